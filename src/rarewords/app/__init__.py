"""The page of ``rarewords serve``: one word, a few sentences, the answers before and after."""

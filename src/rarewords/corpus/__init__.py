"""Text in, counts and contexts out: everything that learns here learns from a store made by this package.

:func:`rarewords.corpus.build.build` makes a store from text, :class:`rarewords.corpus.store.Store` reads it.
"""

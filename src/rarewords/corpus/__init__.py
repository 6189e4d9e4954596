"""Text in, counts and contexts out: everything that learns here learns from a corpus made by this package.

:func:`rarewords.corpus.build.build` makes a corpus from text, :class:`rarewords.corpus.corpus.Corpus` reads
it.
"""

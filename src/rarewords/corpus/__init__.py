"""Text in, counts and contexts out: everything that learns here learns from a corpus made by this package."""

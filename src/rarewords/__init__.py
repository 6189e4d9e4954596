"""rarewords: teach a pretrained language model the words it never learned."""

__version__ = "0.1.0"

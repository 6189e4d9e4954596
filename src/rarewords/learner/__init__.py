"""Embeddings of new words from sentences, definitions and spelling."""

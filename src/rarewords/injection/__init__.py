"""Embeddings into a model and its tokenizer, and out of it again."""

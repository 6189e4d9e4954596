"""Teaching a model words from text: choose words, learn embeddings, check them, inject the good ones."""

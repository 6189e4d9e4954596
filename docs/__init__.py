"""The documents, and what builds them."""

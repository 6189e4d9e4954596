"""WNLaMPro: what a language model understands of a word, by how often it has met the word."""

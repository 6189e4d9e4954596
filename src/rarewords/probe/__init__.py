"""WNLaMPro: what a language model understands of a word, by how often the word occurs in text."""

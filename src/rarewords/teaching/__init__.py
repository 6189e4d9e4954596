"""Teaching a model words from text: choose words, learn vectors, judge them, inject the good ones."""

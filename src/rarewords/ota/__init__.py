"""One-token approximation: one embedding that acts in a model as a word of several subwords does."""

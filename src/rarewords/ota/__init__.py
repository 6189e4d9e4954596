"""One-token approximation: one vector that acts in a model as a word of several pieces does."""

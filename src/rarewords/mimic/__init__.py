"""Attentive mimicking: a word's embedding from its spelling and its sentences."""

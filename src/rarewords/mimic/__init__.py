"""Attentive mimicking: a word's vector from its spelling and its sentences."""

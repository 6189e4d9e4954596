"""One-token approximation: one vector that acts like a word of several pieces."""

from rarewords.ota.run import Approximation, Approximator, approximate
from rarewords.ota.settings import OtaSettings
from rarewords.ota.words import WordNote

__all__ = ["Approximation", "Approximator", "OtaSettings", "WordNote", "approximate"]

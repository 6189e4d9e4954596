"""WNLaMPro: what a language model understands of a word, by how often the word occurs in text.

>>> from rarewords import LanguageModel, wnlampro
>>> wnlampro.evaluate(LanguageModel.from_pretrained(), wnlampro.load()).mrr  # doctest: +SKIP
0.293
"""

from rarewords.wnlampro.builder import build
from rarewords.wnlampro.comparison import compare
from rarewords.wnlampro.dataset import Dataset, load
from rarewords.wnlampro.probing import EvalSettings, evaluate
from rarewords.wnlampro.result import ProbeResult

__all__ = ["Dataset", "EvalSettings", "ProbeResult", "build", "compare", "evaluate", "load"]

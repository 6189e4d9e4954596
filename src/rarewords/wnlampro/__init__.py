"""WNLaMPro: what a language model understands of a word, by how often the word occurs in text.

>>> from rarewords import LanguageModel, wnlampro
>>> wnlampro.evaluate(LanguageModel.from_pretrained(), wnlampro.load()).mrr  # doctest: +SKIP
0.293
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # "as" tells type checkers that a name is public
    from rarewords.wnlampro.builder import build as build
    from rarewords.wnlampro.comparison import compare as compare
    from rarewords.wnlampro.dataset import Dataset as Dataset
    from rarewords.wnlampro.dataset import load as load
    from rarewords.wnlampro.probing import EvalSettings as EvalSettings
    from rarewords.wnlampro.probing import evaluate as evaluate
    from rarewords.wnlampro.result import ProbeResult as ProbeResult

_HOMES = {
    "Dataset": "dataset",
    "EvalSettings": "probing",
    "ProbeResult": "result",
    "build": "builder",
    "compare": "comparison",
    "evaluate": "probing",
    "load": "dataset",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rarewords.wnlampro' has no attribute {name!r}")
    return getattr(import_module(f"rarewords.wnlampro.{_HOMES[name]}"), name)

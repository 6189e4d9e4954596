"""rarewords: teach a pretrained language model the words it never learned."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rarewords.errors import InputError

if TYPE_CHECKING:
    from rarewords.corpus.build import build as build_store
    from rarewords.corpus.store import Store
    from rarewords.injection import inject, inject_folder
    from rarewords.lm import Answers, LanguageModel, Query
    from rarewords.mimic.attentive import AttentiveMimicking
    from rarewords.mimic.learner import WordLearner
    from rarewords.ota.approximate import approximate
    from rarewords.probe.evaluate import evaluate
    from rarewords.teaching.scan import scan
    from rarewords.teaching.teach import teach
    from rarewords.vectors import WordVectors

__version__ = "0.1.0"
__all__ = [
    "Answers",
    "AttentiveMimicking",
    "InputError",
    "LanguageModel",
    "Query",
    "Store",
    "WordLearner",
    "WordVectors",
    "__version__",
    "approximate",
    "build_store",
    "evaluate",
    "inject",
    "inject_folder",
    "scan",
    "teach",
]

# Loaded on first use: importing torch takes seconds that `rarewords --help` need not spend.
_HOMES = {
    "Answers": "lm",
    "AttentiveMimicking": "mimic.attentive",
    "LanguageModel": "lm",
    "Query": "lm",
    "Store": "corpus.store",
    "WordLearner": "mimic.learner",
    "WordVectors": "vectors",
    "approximate": "ota.approximate",
    "build_store": "corpus.build",
    "evaluate": "probe.evaluate",
    "inject": "injection",
    "inject_folder": "injection",
    "scan": "teaching.scan",
    "teach": "teaching.teach",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rarewords' has no attribute {name!r}")
    return getattr(import_module(f"rarewords.{_HOMES[name]}"), "build" if name == "build_store" else name)

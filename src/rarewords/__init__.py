"""rarewords: teach a pretrained language model the words it never learned."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rarewords.errors import InputError as InputError

if TYPE_CHECKING:  # "as" tells type checkers that a name is public
    from rarewords.corpus.build import build
    from rarewords.corpus.store import Store as Store
    from rarewords.injection import inject as inject
    from rarewords.injection import inject_folder as inject_folder
    from rarewords.lm import Answers as Answers
    from rarewords.lm import LanguageModel as LanguageModel
    from rarewords.lm import Query as Query
    from rarewords.mimic.attentive import AttentiveMimicking as AttentiveMimicking
    from rarewords.mimic.learner import WordLearner as WordLearner
    from rarewords.ota.approximate import approximate as approximate
    from rarewords.probe.evaluate import evaluate as evaluate
    from rarewords.teaching.scan import scan as scan
    from rarewords.teaching.teach import teach as teach
    from rarewords.vectors import WordVectors as WordVectors

    build_store = build

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
__version__ = "0.1.0"
__all__ = sorted(["InputError", "__version__", *_HOMES])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rarewords' has no attribute {name!r}")
    return getattr(import_module(f"rarewords.{_HOMES[name]}"), "build" if name == "build_store" else name)

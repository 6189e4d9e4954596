"""rarewords: teach a pretrained language model the words it never learned."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rarewords.errors import InputError

if TYPE_CHECKING:
    from rarewords.corpus.store import Store
    from rarewords.injection import Injection, inject, inject_folder
    from rarewords.lm import Answers, LanguageModel, Query
    from rarewords.mimic.learner import WordLearner
    from rarewords.mimic.mimicking import AttentiveMimicking
    from rarewords.ota import OtaSettings, approximate
    from rarewords.teaching import Taught, TeachSettings, teach
    from rarewords.vectors import WordVectors

__version__ = "0.1.0"
__all__ = [
    "Answers",
    "AttentiveMimicking",
    "Injection",
    "InputError",
    "LanguageModel",
    "OtaSettings",
    "Query",
    "Store",
    "Taught",
    "TeachSettings",
    "WordLearner",
    "WordVectors",
    "__version__",
    "approximate",
    "inject",
    "inject_folder",
    "teach",
]

# A function never has its module's name (inject lives in injection.py): importing the module would hide it.
# Loaded when first used: importing torch takes seconds that `rarewords --help` need not spend.
_LAZY = {
    "Answers": "rarewords.lm",
    "AttentiveMimicking": "rarewords.mimic.mimicking",
    "Injection": "rarewords.injection",
    "LanguageModel": "rarewords.lm",
    "OtaSettings": "rarewords.ota",
    "Query": "rarewords.lm",
    "Store": "rarewords.corpus.store",
    "Taught": "rarewords.teaching",
    "TeachSettings": "rarewords.teaching",
    "WordLearner": "rarewords.mimic.learner",
    "WordVectors": "rarewords.vectors",
    "approximate": "rarewords.ota",
    "inject": "rarewords.injection",
    "inject_folder": "rarewords.injection",
    "teach": "rarewords.teaching",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'rarewords' has no attribute {name!r}")

"""Add new words to a pretrained Hugging Face model from a few sentences or a definition."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rarewords.errors import InputError as InputError

if TYPE_CHECKING:  # "as" tells type checkers that a name is public
    from rarewords import wnlampro as wnlampro
    from rarewords.corpus.corpus import Corpus as Corpus
    from rarewords.corpus.settings import CorpusSettings as CorpusSettings
    from rarewords.embeddings import WordEmbeddings as WordEmbeddings
    from rarewords.injection.forget import affected as affected
    from rarewords.injection.forget import forget as forget
    from rarewords.injection.inject import inject as inject
    from rarewords.learner.learner import WordLearner as WordLearner
    from rarewords.learner.settings import LearnerSettings as LearnerSettings
    from rarewords.lm import LanguageModel as LanguageModel
    from rarewords.mimic.attentive import AttentiveMimicking as AttentiveMimicking
    from rarewords.mimic.settings import MimicSettings as MimicSettings
    from rarewords.ota.approximate import one_token_approximation as one_token_approximation
    from rarewords.ota.settings import OtaSettings as OtaSettings
    from rarewords.queries import Query as Query
    from rarewords.teaching.report import TeachResult as TeachResult
    from rarewords.teaching.scan import scan as scan
    from rarewords.teaching.settings import TeachSettings as TeachSettings
    from rarewords.teaching.teach import teach as teach

# Loaded on first use: importing torch takes seconds that `rarewords --help` need not spend.
_HOMES = {
    "AttentiveMimicking": "mimic.attentive",
    "Corpus": "corpus.corpus",
    "CorpusSettings": "corpus.settings",
    "LanguageModel": "lm",
    "LearnerSettings": "learner.settings",
    "MimicSettings": "mimic.settings",
    "OtaSettings": "ota.settings",
    "Query": "queries",
    "TeachResult": "teaching.report",
    "TeachSettings": "teaching.settings",
    "WordEmbeddings": "embeddings",
    "WordLearner": "learner.learner",
    "affected": "injection.forget",
    "forget": "injection.forget",
    "inject": "injection.inject",
    "one_token_approximation": "ota.approximate",
    "scan": "teaching.scan",
    "teach": "teaching.teach",
}
__version__ = "0.2.0"
__all__ = sorted(["InputError", "__version__", "wnlampro", *_HOMES])


def __getattr__(name: str) -> Any:
    if name == "wnlampro":
        return import_module("rarewords.wnlampro")
    if name not in _HOMES:
        raise AttributeError(f"module 'rarewords' has no attribute {name!r}")
    return getattr(import_module(f"rarewords.{_HOMES[name]}"), name)

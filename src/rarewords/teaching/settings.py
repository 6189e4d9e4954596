"""The settings of teaching; all of them go into the model card."""

from dataclasses import dataclass
from typing import Literal

from rarewords._internal.schema import bounded, check_bounds
from rarewords.errors import InputError
from rarewords.tokens import is_pattern


@dataclass(frozen=True, kw_only=True)
class TeachSettings:
    """Which words are added, from how many contexts, and how the result is checked.

    :param placement: ``replace`` reads each word as one token, ``append`` as its subwords and then the token,
        ``ku ##m ##qua ##t / ᐸkumquatᐳ``. By default ``replace`` for causal LMs, ``append`` for others.
    :param min_count: without a list of words: add only words that occur at least this often.
    :param top: without a list of words: add at most this many, those that would gain most.
    :param contexts: make an embedding from at most this many contexts per word.
    :param keep_all: also add words whose embedding does worse than their subwords.
    :param allow_prediction: let the model answer with the new words.
    :param question: what each word is asked, with ``<W>`` for the word and ``_`` for the blank, instead of a
        question that suits how the text uses it.
    :param rule: what counts as a word of the text: by default ``english``, or ``any`` if words are listed.
    """

    placement: Literal["append", "replace", None] = None
    min_count: int = bounded(4, at_least=1)
    top: int = bounded(1000, at_least=1)
    contexts: int = bounded(16, at_least=1)
    keep_all: bool = False
    allow_prediction: bool = False
    rule: Literal["english", "any", None] = None
    question: str | None = None

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.question is not None and not is_pattern(self.question):
            problem = f"a question needs one <W> and one _: 'a <W> treats _', not {self.question!r}"
            raise InputError(problem, code="settings")

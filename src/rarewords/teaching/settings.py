"""What teaching is done with; all of it goes into the model's card."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rarewords.corpus.settings import WordRule
from rarewords.errors import InputError

MIXES = ("replace", "slash")
METHODS = ("auto", "am")


@dataclass(frozen=True, kw_only=True)
class TeachSettings:
    """Which words are taught, from how much text, and how the result is judged.

    :param mix: ``replace`` makes each word one token with its vector; ``slash`` adds tokens ``<word>`` for
        use behind the word, ``kumquat / <kumquat>``.
    :param below: only words that occur less often than this in the text.
    :param min_count: without a list of words: only words that occur at least so often.
    :param most_words: without a list of words: at most so many, those that lose most in pieces first.
    :param sentences: a vector is made from at most so many sentences.
    :param held_out: at most so many sentences of a word are kept for judging (see :mod:`.lessons`).
    :param places: at most so many neighbours of the word are masked in a sentence kept for judging.
    :param keep_all: keep vectors that do worse than the word's pieces, too.
    :param predictable: let the model answer with the new words.
    :param method: ``auto`` is :class:`~rarewords.mimic.learner.WordLearner`, ``am`` a trained mimic model.
    :param rule: which words of the text count as words; without it ``any`` where a list is given (the list
        decides), otherwise ``english``.
    """

    mix: str = "replace"
    below: int | None = None
    min_count: int = 4
    most_words: int = 1000
    sentences: int = 32
    held_out: int = 8
    places: int = 3
    keep_all: bool = False
    predictable: bool = False
    method: str = "auto"
    rule: WordRule | None = None

    def __post_init__(self) -> None:
        if self.mix not in MIXES:
            raise InputError(f"mix must be one of {', '.join(MIXES)}, not {self.mix!r}")
        if self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}")
        if self.below is not None and self.below < 2:
            raise InputError(f"'below' is a count from 2 on, not {self.below}")
        for name in ("min_count", "most_words", "sentences", "held_out", "places"):
            if getattr(self, name) < 1:
                raise InputError(f"{name.replace('_', '-')} must be 1 or more, not {getattr(self, name)}")

    @property
    def slash(self) -> bool:
        """Whether the vector stands behind the word instead of in its place."""
        return self.mix == "slash"

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON can hold them."""
        return asdict(self)

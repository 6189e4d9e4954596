"""What a corpus is made with."""

from dataclasses import dataclass
from typing import Literal

from rarewords._internal.schema import LARGEST_NUMBER, bounded, check_bounds


@dataclass(frozen=True, kw_only=True)
class CorpusSettings:
    """How text becomes counts and contexts.

    :param contexts: the most contexts kept per word.
    :param window: words on each side of the word in a context.
    :param lower_case: lower-case all words, as an uncased model does.
    :param words: the word rule, which decides what gets contexts: ``english`` for ``[a-z.-]*`` with at least
        one letter, ``any`` for every script.
    :param min_count: rarer words get no contexts.
    :param seed: another seed draws another sample.
    """

    contexts: int = bounded(1000, at_least=1, at_most=1_000_000)
    window: int = bounded(25, at_least=1, at_most=1000)
    lower_case: bool = True
    words: Literal["english", "any"] = "english"
    min_count: int = bounded(1, at_least=1, at_most=LARGEST_NUMBER)
    seed: int = bounded(0, at_least=0, at_most=LARGEST_NUMBER)

    def __post_init__(self) -> None:
        check_bounds(self)

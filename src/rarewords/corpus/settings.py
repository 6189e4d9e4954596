"""What a store is made with."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self, get_args

from rarewords.errors import InputError
from rarewords.settings import LARGEST_NUMBER, bounded, check_bounds, checked_settings

WordRule = Literal["english", "any"]

# Goes up whenever the same text would be cut into other sentences or words, or hashed otherwise.
RULES = 1


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
    words: WordRule = "english"
    min_count: int = bounded(1, at_least=1, at_most=LARGEST_NUMBER)
    seed: int = bounded(0, at_least=0, at_most=LARGEST_NUMBER)

    def __post_init__(self) -> None:
        if self.words not in get_args(WordRule):
            raise InputError(f"the word rule (--rule) must be english or any, not {self.words!r}")
        check_bounds(self)

    def to_dict(self) -> dict[str, Any]:
        """The settings and the version of the rules, as ``store.json`` holds them."""
        return {**asdict(self), "rules": RULES}

    @classmethod
    def from_dict(cls, values: dict[str, Any], source: str) -> Self:
        """Read settings back; ``source`` names the file in the message if they do not fit."""
        values = {**values}
        rules = values.pop("rules", None)
        if rules != RULES:
            problem = f"version {rules} of the word rules, this is version {RULES}"
            raise InputError(f"{source} was written with {problem}; build the store again from its text")
        found = checked_settings(cls, values, "settings")
        return cls(**{name: found[name] for name in asdict(cls())})  # each must be there

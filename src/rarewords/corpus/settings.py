"""What a store is made with; two stores can be merged if their settings are equal."""

from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from rarewords.errors import InputError
from rarewords.files import checked_settings

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
    :param min_count: rarer words get no contexts. A store with a minimum above 1 cannot be added to: it lacks
        contexts that become necessary when more text raises the counts.
    :param seed: another seed draws another sample.
    """

    contexts: int = 1000
    window: int = 25
    lower_case: bool = True
    words: WordRule = "english"
    min_count: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.contexts <= 1_000_000:
            raise InputError(f"contexts must be between 1 and 1000000, not {self.contexts}")
        if not 1 <= self.window <= 1000:
            raise InputError(f"window must be between 1 and 1000 words, not {self.window}")
        if self.words not in ("english", "any"):
            raise InputError(f"the word rule (--rule) must be english or any, not {self.words!r}")
        if not 1 <= self.min_count < 2**63:
            raise InputError(f"min-count must be between 1 and 2^63 - 1, not {self.min_count}")
        if not 0 <= self.seed < 2**63:
            raise InputError(f"seed must be between 0 and 2^63 - 1, not {self.seed}")

    def to_dict(self) -> dict[str, Any]:
        """The settings and the version of the rules, as ``store.json`` holds them."""
        return {**asdict(self), "rules": RULES}

    @classmethod
    def from_dict(cls, values: dict[str, Any], source: str) -> Self:
        """Read settings back; ``source`` names the file in the message if they do not fit."""
        values = {**values}
        rules = values.pop("rules", None)
        if rules != RULES:
            raise InputError(
                f"{source} was written with version {rules} of the word rules, this is version {RULES}; "
                "build the store again from its text"
            )
        found = checked_settings(cls, values, "settings")
        return cls(**{name: found[name] for name in asdict(cls())})  # each must be there

"""Which sentences of a word its vector is made from, and which are kept to judge it by.

No vector is ever judged by a sentence it was made from. The rule, for a word of n different sentences:

- 16 or more: a quarter of them, at most ``held_out``, is kept for judging and never used for the vector;
- 2 to 15: a quarter would be too few to judge by, and sorely missed. The sentences are divided into four
  parts (or n); each is judged with a vector made from the others, and the vector that is taught from all;
- one: the word is taught without being judged, and the report says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rarewords.corpus.store import Store
from rarewords.teaching.settings import TeachSettings

_ENOUGH = 16
_PARTS = 4


@dataclass(frozen=True)
class Use:
    """A sentence and the characters of the word in it."""

    sentence: str
    start: int
    end: int


@dataclass(frozen=True)
class Trial:
    """Sentences a vector is judged by, and those it is made from; the two share none."""

    learned: tuple[str, ...]
    judged: tuple[Use, ...]


@dataclass(frozen=True)
class Lesson:
    """A word, the sentences its vector is made from, and the trials that judge it."""

    word: str
    count: int
    learned: tuple[str, ...]
    trials: tuple[Trial, ...]

    @property
    def judged_as_taught(self) -> bool:
        """Whether the trial's vector is the very one that is taught."""
        return len(self.trials) == 1 and self.trials[0].learned == self.learned


def make_lessons(store: Store, words: Mapping[str, int], settings: TeachSettings) -> list[Lesson]:
    """The lessons of words; their sentences are the store's sample, which is the same each time."""
    return [_lesson(store, word, count, settings) for word, count in words.items()]


def _lesson(store: Store, word: str, count: int, settings: TeachSettings) -> Lesson:
    wanted = settings.sentences + settings.held_out
    uses: dict[str, Use] = {}
    # A sentence that has the word twice is two contexts; twice as many leave enough when it counts once.
    for context in store.contexts(word, 2 * wanted):
        uses.setdefault(context.sentence, Use(context.sentence, context.start, context.end))
    return split_uses(word, count, list(uses.values())[:wanted], settings)


def split_uses(word: str, count: int, uses: list[Use], settings: TeachSettings) -> Lesson:
    """Divide the sentences of a word by the rule above."""
    if len(uses) >= _ENOUGH:
        kept = min(settings.held_out, len(uses) // _PARTS)
        judged, rest = uses[:kept], uses[kept:]
        learned = tuple(use.sentence for use in rest[: settings.sentences])
        return Lesson(word, count, learned, (Trial(learned, tuple(judged)),))
    uses = uses[: settings.sentences]
    everything = tuple(use.sentence for use in uses)
    trials = []
    for part in range(min(_PARTS, len(uses)) if len(uses) > 1 else 0):
        others = tuple(use.sentence for place, use in enumerate(uses) if place % _PARTS != part)
        trials.append(Trial(others, tuple(uses[part::_PARTS])))
    return Lesson(word, count, everything, tuple(trials))

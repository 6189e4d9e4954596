"""Which words are taught: those of a list, or those of the text that lose most in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rarewords.corpus.store import Store
from rarewords.errors import InputError
from rarewords.injection import unfit_words
from rarewords.scan import scan_counts
from rarewords.teaching.settings import TeachSettings
from rarewords.tokens import Tokens


@dataclass(frozen=True)
class ChosenWords:
    """Words to teach with their counts in the text, and words that are not taught, with the reason."""

    counts: dict[str, int]
    refused: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        """Lists, because the order of the words matters and that of a JSON object does not."""
        return {"counts": list(self.counts.items()), "refused": list(self.refused.items())}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> ChosenWords:
        """Read back what :meth:`as_json` gave."""
        return cls(dict(stored["counts"]), dict(stored["refused"]))

    def require_some(self) -> None:
        """Raise when there is nothing to teach; the message names a word and why it was refused."""
        if self.counts:
            return
        if not self.refused:
            raise InputError(
                "the text holds no word worth teaching: none is cut into pieces and frequent enough; "
                "give more text, a lower --min-count or a list of words with --words"
            )
        word, reason = next(iter(self.refused.items()))
        raise InputError(f"none of the {len(self.refused)} words can be taught; {word!r}: {reason}")


def choose_words(
    counted: tuple[Sequence[str], Sequence[int]],
    tokens: Tokens,
    settings: TeachSettings,
    listed: Sequence[str] | None = None,
) -> ChosenWords:
    """Choose among the words of a text.

    :param counted: the words of the text and their counts.
    :param listed: the user's own list; without it the text is searched for words worth teaching.
    """
    if listed is not None:
        chosen = _of_list(dict(zip(*counted, strict=True)), tokens, settings, listed)
    else:
        names, counts = counted
        missing = scan_counts(names, np.asarray(counts), tokens, min_count=settings.min_count).missing
        worth = [word for word in missing if word.gain > 0 and _below(word.count, settings)]
        chosen = ChosenWords({word.word: word.count for word in worth[: settings.most_words]}, {})
    unfit = unfit_words(tokens.tokenizer, list(chosen.counts), slash=settings.slash)
    fit = {word: count for word, count in chosen.counts.items() if word not in unfit}
    return ChosenWords(fit, {**chosen.refused, **unfit})


def store_counts(store: Store) -> tuple[list[str], list[int]]:
    """The words of a store and their counts, the most frequent first."""
    names, counts = store.counts()
    return names, counts.tolist()


def _of_list(
    counts: dict[str, int], tokens: Tokens, settings: TeachSettings, listed: Sequence[str]
) -> ChosenWords:
    folded = list(dict.fromkeys(word.lower() if tokens.lower_case else word for word in listed))
    chosen, refused = {}, {}
    for word, pieces in zip(folded, tokens.pieces_of(folded), strict=True):
        count = counts.get(word, 0)
        if len(pieces) == 1 and not tokens.has_unknown(pieces):
            refused[word] = "the model has it as one piece already"
        elif not count:
            refused[word] = "the text does not contain it as a word"
        elif not _below(count, settings):
            refused[word] = f"it occurs {count} times, not below {settings.below}"
        else:
            chosen[word] = count
    return ChosenWords(chosen, refused)


def _below(count: int, settings: TeachSettings) -> bool:
    return settings.below is None or count < settings.below

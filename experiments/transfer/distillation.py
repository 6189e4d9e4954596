"""One-token approximation in a word's own sentences: one embedding leaves the hidden states as with the subwords.

With :func:`last_layer` and from the mean of the subwords on it is token distillation. In a causal LM only the states
behind the word differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch

from rarewords import InputError, LanguageModel, OtaSettings
from rarewords.ota.approximate import Approximator
from rarewords.ota.objective import Batch, Frame

AROUND = 24  # tokens of a text on either side of the word
RATES = (1e-3, 3e-3, 1e-2)  # of Adam, to choose from


def last_layer(lm: LanguageModel, rate: float, steps: int) -> OtaSettings:
    """The settings of token distillation."""
    return OtaSettings(layers=(lm.layers,), balanced=False, newton=False, steps=steps, rate=rate)


def distill(
    lm: LanguageModel,
    subwords: Sequence[Sequence[int]],
    texts: Sequence[str],
    settings: OtaSettings,
    start: torch.Tensor | None = None,
) -> torch.Tensor:
    """Embeddings of words of the same number of subwords, each compared in its own text. *Shape:* (words, dim)"""
    approximator = Approximator(lm, settings)
    approximator.objective.frame = SentenceFrame.around_words(lm, texts, subwords)
    batch = Batch(torch.tensor(subwords, device=lm.device), torch.arange(len(subwords), device=lm.device))
    return approximator.solve(batch, start=start)


@dataclass(frozen=True)
class SentenceFrame(Frame):
    """Sentences of each word around it, instead of drawn words.

    :param windows: for each word, whose key is its place here, token ids without the word.
        *Shape of each:* (occurrences, places)
    """

    windows: Sequence[torch.Tensor]

    @classmethod
    def around_words(cls, lm: LanguageModel, texts: Sequence[str], subwords: Sequence[Sequence[int]]) -> Self:
        """Windows around each word in its own text.

        A text goes on from its end to its start, so that all windows have the same length.
        """
        start, end = lm.tokens.special_tokens
        end = () if lm.kind == "causal" else end
        windows = []
        for text, word in zip(texts, subwords, strict=True):
            ids = lm.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            found = [
                [*start, *_circle(ids, at - AROUND), *_circle(ids, at + len(word)), *end]
                for at in range(len(ids))
                if ids[at : at + len(word)] == list(word)
            ]
            if not found:
                name = lm.tokenizer.decode(list(word)).strip()
                raise InputError(f"no sentence contains {name!r}; give some that do", code="word-not-found")
            windows.append(torch.tensor(found, device=lm.device))
        places = len(start) + 2 * AROUND + len(end)
        blank = torch.zeros(places, dtype=torch.long, device=lm.device)
        return cls(blank, len(start) + AROUND, blank, blank[:0], windows)

    def sequences(self, subwords: torch.Tensor, keys: torch.Tensor, context: int) -> torch.Tensor:
        """Token ids of each word in occurrence number ``context``, the first again after the last."""
        own = [self.windows[key] for key in keys.tolist()]
        around = torch.stack([windows[context % len(windows)] for windows in own])
        return torch.cat([around[:, : self.left], subwords, around[:, self.left :]], dim=1)


def _circle(ids: Sequence[int], first: int) -> list[int]:
    return [ids[place % len(ids)] for place in range(first, first + AROUND)]

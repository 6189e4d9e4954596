"""Fine-tuning a model to give each word a label.

A word's logits are the mean of the logits of its tokens, however many it has, so that the same rule holds
for subwords, for one embedding, and for subwords and embedding.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForTokenClassification, PreTrainedTokenizerFast, logging

from rarewords.models import choose_device

_WARM_UP, _MOST_TOKENS, _AT_ONCE = 0.1, 160, 128
_IGNORED = -100
logging.set_verbosity_error()  # loading reports the missing layer of labels every time


@dataclass(frozen=True)
class Examples:
    """Texts and labels on a device, padded to the longest; a batch is cut to its own longest.

    :param ids: *Shape:* (texts, length)
    :param words: which word each token belongs to, -1 for none. *Shape:* (texts, length)
    :param labels: *Shape:* (texts, words)
    :param tokens_of: the number of tokens of each text. *Shape:* (texts,)
    :param words_of: the number of words of each text. *Shape:* (texts,)
    """

    ids: Tensor
    words: Tensor
    labels: Tensor
    tokens_of: np.ndarray
    words_of: np.ndarray

    @classmethod
    def of(
        cls, tokenizer: PreTrainedTokenizerFast, texts: Sequence[Sequence[str]], labels: Sequence[Sequence[int]]
    ) -> Self:
        """Texts as lists of words, with a label for each word."""
        encoded = tokenizer(
            [list(words) for words in texts], is_split_into_words=True, truncation=True, max_length=_MOST_TOKENS
        )
        rows = encoded["input_ids"]
        owners = [[-1 if word is None else word for word in encoded.word_ids(row)] for row in range(len(rows))]
        device = choose_device()

        def padded(values: Sequence[Sequence[int]], filler: int) -> Tensor:
            longest = max(map(len, values))
            return torch.tensor([[*one, *[filler] * (longest - len(one))] for one in values], device=device)

        return cls(
            padded(rows, tokenizer.pad_token_id or 0),
            padded(owners, -1),
            padded(labels, _IGNORED),
            np.array([len(one) for one in rows]),
            np.array([len(one) for one in labels]),
        )

    def batches(self, order: np.ndarray, size: int) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """Token ids, attention mask, word of each token, and label of each word."""
        for first in range(0, len(order), size):
            rows = order[first : first + size]
            length, words = int(self.tokens_of[rows].max()), int(self.words_of[rows].max())
            own = torch.from_numpy(rows).to(self.ids.device)
            real = torch.from_numpy(self.tokens_of[rows]).to(self.ids.device)
            mask = (torch.arange(length, device=self.ids.device) < real[:, None]).long()
            yield self.ids[own, :length], mask, self.words[own, :length], self.labels[own, :words]


def load(folder: str | Path, labels: int, seed: int) -> Any:
    """A model with a new layer of labels on top, drawn by the seed."""
    torch.manual_seed(seed)
    return AutoModelForTokenClassification.from_pretrained(folder, num_labels=labels).to(choose_device())


def fine_tune(model: Any, examples: Examples, *, rate: float, epochs: int, seed: int, batch_size: int = 32) -> None:
    """Train all weights with AdamW; the rate rises for a short while and falls linearly to zero."""
    device = examples.ids.device
    torch.manual_seed(seed)
    draw = np.random.default_rng(seed)
    steps = epochs * -(-len(examples.ids) // batch_size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, fused=device.type == "cuda")
    warm = max(1, int(_WARM_UP * steps))
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (steps - step) / max(1, steps - warm))
    )
    model.train()
    for _ in range(epochs):
        for *batch, labels in examples.batches(draw.permutation(len(examples.ids)), batch_size):
            with _half(device):
                logits = _word_logits(model, *batch, labels.shape[1])
            torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=_IGNORED).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            rates.step()
            optimizer.zero_grad(set_to_none=True)
    model.eval()


@torch.no_grad()
def predict(model: Any, examples: Examples) -> list[np.ndarray]:
    """The label of each word of each text; 0 for a word that has no token or was cut off."""
    order = np.argsort(examples.tokens_of, kind="stable")
    found: list[np.ndarray] = [np.zeros(0)] * len(order)
    done = 0
    for *batch, labels in examples.batches(order, _AT_ONCE):
        with _half(examples.ids.device):
            best = _word_logits(model, *batch, labels.shape[1]).argmax(-1).cpu().numpy()
        for own in best:
            row = int(order[done])
            found[row] = own[: examples.words_of[row]]
            done += 1
    return found


def _half(device: torch.device) -> AbstractContextManager[Any]:
    return torch.autocast("cuda", torch.bfloat16) if device.type == "cuda" else nullcontext()


def _word_logits(model: Any, ids: Tensor, mask: Tensor, words: Tensor, count: int) -> Tensor:
    """The mean logits of each word's tokens. *Shape:* (batch, count, labels)"""
    logits = model(input_ids=ids, attention_mask=mask).logits.float()
    own = (words[:, None, :] == torch.arange(count, device=words.device)[:, None]).float()
    with torch.autocast(ids.device.type, enabled=False):
        return (own @ logits) / own.sum(-1, keepdim=True).clamp_min(1)

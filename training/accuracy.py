"""Masked accuracy of models on the same held-out text.

    python training/accuracy.py TOKENS --models default OTHER_FOLDER --windows 400

Windows of 128 tokens are cut from the ``.held`` files of ``prepare.py``, one token in five is masked, and
every model predicts the same masked tokens. Token ids go from one vocabulary to another by their text.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from rarewords import LanguageModel

CLS, SEP, WINDOW, MASKED = 101, 102, 126, 25


def windows(folder: Path, count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Windows of held-out tokens and the masked places of each. *Shapes:* (windows, 126), (windows, 25)"""
    held = np.concatenate([np.fromfile(path, "<u2") for path in sorted(folder.glob("*.held"))])
    draw = np.random.default_rng(seed)
    starts = draw.integers(0, len(held) - WINDOW, count)
    rows = held[starts[:, None] + np.arange(WINDOW)].astype(np.int64)
    chance = np.where(rows == SEP, 2.0, draw.random(rows.shape))
    return rows, np.argsort(chance, axis=1)[:, :MASKED]


@torch.no_grad()
def accuracy(lm: LanguageModel, rows: np.ndarray, places: np.ndarray, vocabulary: list[str]) -> tuple[float, float]:
    """The share of masked tokens that a model finds, and its standard error over windows."""
    tokenizer = lm.tokenizer
    own = torch.tensor(tokenizer.convert_tokens_to_ids(vocabulary))
    own[CLS], own[SEP] = tokenizer.cls_token_id, tokenizer.sep_token_id
    found = []
    for row, masked in zip(rows, places, strict=True):
        truth = own[torch.from_numpy(row)]
        ids = truth.clone()
        ids[masked] = tokenizer.mask_token_id
        inputs = torch.cat([own[CLS : CLS + 1], ids, own[SEP : SEP + 1]])[None].to(lm.device)
        logits = lm.model(input_ids=inputs).logits[0, 1 + torch.from_numpy(masked).to(lm.device)]
        found.append(float((logits.argmax(-1).cpu() == truth[masked]).float().mean()))
    return float(np.mean(found)), float(np.std(found) / np.sqrt(len(found)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tokens", type=Path)
    parser.add_argument("--models", nargs="+", default=["default"])
    parser.add_argument("--windows", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rows, places = windows(arguments.tokens, arguments.windows, arguments.seed)
    reference = LanguageModel.from_pretrained("default", device="cpu")
    vocabulary = reference.tokenizer.convert_ids_to_tokens(list(range(len(reference.tokenizer))))
    for name in arguments.models:
        mean, error = accuracy(LanguageModel.from_pretrained(name), rows, places, vocabulary)
        print(json.dumps({"model": Path(name).name, "accuracy": round(mean, 4), "error": round(error, 4)}))

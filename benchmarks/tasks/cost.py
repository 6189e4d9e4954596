"""What new words cost: seconds, memory and bytes for a thousand words from 20 MB of text, in three ways.

    python benchmarks/tasks/cost.py TEXT --way teach [--model M --name NAME] [--words 1000]

From text to a saved folder, with the words that `teach` would choose: *teach*, as `rarewords teach` does it,
each word judged; *row*, one trained row per word as PEFT's trainable tokens have it: one pass over the same
sentences with the masked-LM loss, everything else frozen; *ota*, one-token approximation, the objective of
token distillation, which needs no sentences. Each way is a process of its own, so that its peak memory is its
own. Only the cost is measured here, not what the words are worth.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from measure import note, options
from torch import Tensor
from transformers import AutoModelForMaskedLM

from rarewords import LanguageModel, WordVectors, approximate, build_store, inject, inject_folder, teach
from rarewords.corpus.settings import CorpusSettings
from rarewords.models import DEFAULT_MODEL, bundled_model, choose_device, load_pretrained
from rarewords.teaching.scan import choose_words
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import Split, split_words

_BATCH, _MASKED, _RATE, _MOST_TOKENS = 32, 0.15, 1e-3, 128
MEGABYTES = 20


def chosen(text: Path, place: Path, lm: LanguageModel, settings: TeachSettings) -> list[Split]:
    """The words that `teach` would choose, with their sentences."""
    store = build_store([text], place / "store", CorpusSettings(lower_case=lm.lower_case))
    found = list(choose_words(store, lm.tokens, settings).counts.items())[: settings.top]
    return split_words(store, dict(found), settings)


def trained_rows(base: str, splits: list[Split], start: WordVectors, out: Path) -> None:
    """Train one row per word, from the mean of its pieces, on its sentences; save the folder."""
    device = choose_device()
    model, tokenizer = load_pretrained(base)
    ids = sorted(inject(model, tokenizer, start, predictable=True).ids.values())
    model.to(device).requires_grad_(False).train()
    weight = model.get_input_embeddings().weight
    name = next(name for name, own in model.named_parameters() if own is weight)
    old = weight[: ids[0]].clone()
    rows = weight[ids].clone().requires_grad_(True)
    optimizer = torch.optim.Adam([rows], lr=_RATE)
    sentences = sorted({sentence for split in splits for sentence in split.contexts})
    encoded = tokenizer(sentences, truncation=True, max_length=_MOST_TOKENS)["input_ids"]
    special = torch.tensor(tokenizer.all_special_ids, device=device)
    torch.manual_seed(0)
    for part in np.array_split(
        np.random.default_rng(0).permutation(len(encoded)), -(-len(encoded) // _BATCH)
    ):
        own = [encoded[row] for row in part]
        longest = max(map(len, own))
        tokens = torch.tensor([[*one, *[tokenizer.pad_token_id] * (longest - len(one))] for one in own]).to(
            device
        )
        drawn = (torch.rand(tokens.shape, device=device) < _MASKED) & ~torch.isin(tokens, special)
        seen = torch.where(drawn, tokenizer.mask_token_id, tokens)
        mask = (tokens != tokenizer.pad_token_id).long()
        with torch.autocast("cuda", torch.bfloat16, enabled=device.type == "cuda"):
            logits: Tensor = torch.func.functional_call(
                model, {name: torch.cat([old, rows])}, kwargs={"input_ids": seen, "attention_mask": mask}
            ).logits
        loss = torch.nn.functional.cross_entropy(logits[drawn].float(), tokens[drawn], reduction="sum")
        (loss / max(1, int(drawn.sum()))).backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        weight[ids] = rows
    model.cpu().save_pretrained(out)
    tokenizer.save_pretrained(out)


def size(folder: Path) -> int:
    """The bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    parser = options(__doc__, "a text file; its first 20 MB are used")
    parser.add_argument("--way", choices=("teach", "row", "ota"), required=True)
    parser.add_argument("--words", type=int, default=1000)
    asked = parser.parse_args()
    words, megabytes = (20, 2) if asked.quick else (asked.words, MEGABYTES)
    base = str(bundled_model()) if asked.model == DEFAULT_MODEL else asked.model
    settings = TeachSettings(top=words)
    torch.zeros(1, device=choose_device())  # starts CUDA, which every way needs
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        text, out = place / "text.txt", place / "out"
        with asked.data.open("rb") as file:
            text.write_bytes(file.read(megabytes << 20))
        started = time.perf_counter()
        if asked.way == "teach":
            done = teach([text], out, model=asked.model, settings=settings)
            tried, kept = len(done.words) + len(done.worse), len(done.words)
        else:
            lm = LanguageModel.from_pretrained(asked.model)
            splits = chosen(text, place, lm, settings)
            method = "ota" if asked.way == "ota" else "avg"
            vectors = approximate(lm, [split.word for split in splits], method=method).vectors
            tried = kept = len(vectors)
            if asked.way == "ota":
                inject_folder(asked.model, vectors, out)
            else:
                trained_rows(asked.model, splits, vectors, out)
        seconds = time.perf_counter() - started
        added = size(out) - size(Path(base))
        AutoModelForMaskedLM.from_pretrained(out)  # the folder can be used
    memory = max(
        resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    cuda = torch.cuda.is_available()
    note(
        asked.out,
        task="cost",
        model=asked.name,
        way=asked.way,
        device=torch.cuda.get_device_name() if cuda else f"{len(os.sched_getaffinity(0))} cores",
        megabytes=megabytes,
        tried=tried,
        words=kept,
        seconds=round(seconds, 1),
        memory_mb=memory >> 10,
        cuda_mb=torch.cuda.max_memory_reserved() >> 20 if cuda else 0,
        added_mb=round(added / 2**20, 2),
    )


if __name__ == "__main__":
    main()

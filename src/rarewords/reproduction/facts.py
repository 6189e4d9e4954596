"""What is known of the inputs: what differences to the paper are explained with."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch

from rarewords import __version__
from rarewords.bundled import BUNDLED_NAME, DEFAULT_MODEL
from rarewords.probe.dataset import BANDS, FrequencyBounds
from rarewords.reproduction import published
from rarewords.reproduction.laboratory import Laboratory


def facts_of(lab: Laboratory) -> dict[str, Any]:
    """Sizes of model, corpus, data set and training set, as JSON."""
    lm, config = lab.lm, lab.lm.model.config
    words = lab.store.totals.words
    whole = set(lm.whole_words)
    bounds = FrequencyBounds()
    # A word's occurrences in the store bound its contexts, which are kept up to a limit.
    numbers = lab.store.find(lab.keywords)
    found_counts = np.where(numbers >= 0, lab.store.words.take("count", np.maximum(numbers, 0)), 0)
    counts = dict(zip(lab.keywords, found_counts.tolist(), strict=True))
    kept = lab.settings.sample.contexts or lab.store.settings.contexts
    by_band: dict[str, list[int]] = {band: [] for band in BANDS}
    for entry in lab.dataset:
        by_band[bounds.band(entry.count)].append(min(kept, counts[entry.word.text]))
    return {
        "model": BUNDLED_NAME if lm.name == DEFAULT_MODEL else Path(lm.name).name,
        "fingerprint": lm.fingerprint,
        "architecture": type(lm.model).__name__,
        "layers": lm.layers,
        "hidden": int(getattr(config, "hidden_size", lm.dim)),
        "dim": lm.dim,
        "parameters": round(sum(one.numel() for one in lm.model.parameters()) / 1e6, 1),
        "vocabulary": len(lm.embeddings),
        "whole_words": len(whole),
        "ota": lab.settings.ota_text(),
        "corpus_words": words,
        "corpus_size": f"{words / 1e6:,.0f} million words" if words >= 10_000_000 else f"{words:,} words",
        "corpus_sentences": lab.store.totals.sentences,
        "corpus_vocabulary": len(lab.store),
        "corpus_factor": published.CORPUS_WORDS / max(words, 1),
        "entries": {band: len(found) for band, found in by_band.items()},
        "dev": sum(entry.subset == "dev" for entry in lab.dataset),
        "test": sum(entry.subset == "test" for entry in lab.dataset),
        "keywords": len(lab.keywords),
        "training_one_piece": sum(word in whole for word in lab.frequent),
        "training_several": len(lab.training_targets),
        "contexts_median": {
            band: float(np.median(found)) if found else None for band, found in by_band.items()
        },
        "without_contexts": sum(not count for count in counts.values()) / max(len(counts), 1),
    }


def environment(lab: Laboratory) -> dict[str, str]:
    """The machine and the programs, without anything that names a person or a place."""
    import transformers

    device = lab.lm.device
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
    else:
        threads = torch.get_num_threads()
        name = f"{platform.machine()} {device.type}, {threads} thread{'s' if threads > 1 else ''}"
    return {
        "rarewords": __version__,
        "Python": platform.python_version(),
        "torch": str(torch.__version__),
        "transformers": str(transformers.__version__),
        "numpy": str(np.__version__),
        "device": name,
        "number type": str(lab.lm.dtype).removeprefix("torch."),
        "system": f"{platform.system()} {platform.machine()}",
    }

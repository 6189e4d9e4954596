"""The configurations of attentive mimicking: the paper's ablation, and some beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rarewords.corpus.store import Store
from rarewords.lm import LanguageModel
from rarewords.mimic.mimicking import AttentiveMimicking, InferredWords, PreparedContexts
from rarewords.mimic.settings import MimicSettings
from rarewords.mimic.train import EpochReport
from rarewords.progress import message
from rarewords.vectors import WordVectors

# Of each the preset it starts from, and what is changed.
CONFIGURATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "am": ("am", {}),
    "am+context": ("am+context", {}),
    "no-ota": ("am", {}),
    "no-form": ("am", {"form": False}),
    "no-context": ("am", {"context": False}),
    "no-attention": ("am+context", {"attention": False}),
    "centre": ("am+context", {"centre": True}),
    "skip-frequent": ("am+context", {"skip_frequent": 200}),
    "form-dropout": ("am+context", {"form_dropout": 0.3}),
    "more-dropout": ("am+context", {"form_dropout": 0.5, "ngram_dropout": 0.3}),
    "contextual": ("am+context", {"form_dropout": 0.5, "ngram_dropout": 0.3, "skip_frequent": 200}),
    "contextual+": ("am+context", {"form_dropout": 0.7, "ngram_dropout": 0.5, "skip_frequent": 200}),
    "am+pieces": ("am+pieces", {}),
    "am+pieces-pieces": ("am+pieces", {"pieces": 0.0, "pieces_alone": 0.0}),
    "cosine": ("am+context", {"form_dropout": 0.5, "ngram_dropout": 0.3, "loss": "cosine"}),
    "decay": ("am+context", {"learning_rate": 0.003, "final_learning_rate": 0.0003}),
    "more-dropout+": (
        "am+context",
        {
            "form_dropout": 0.5,
            "ngram_dropout": 0.3,
            "centre": True,
            "learning_rate": 0.003,
            "final_learning_rate": 0.0003,
        },
    ),
    "more-dropout++": (
        "am+context",
        {
            "form_dropout": 0.5,
            "ngram_dropout": 0.3,
            "centre": True,
            "skip_frequent": 200,
            "learning_rate": 0.003,
            "final_learning_rate": 0.0003,
        },
    ),
    "all-beside": (
        "am+context",
        {
            "centre": True,
            "skip_frequent": 200,
            "form_dropout": 0.3,
            "learning_rate": 0.003,
            "final_learning_rate": 0.0003,
        },
    ),
}

TITLES = {
    "am": "AM",
    "am+context": "AM+context",
    "no-ota": "AM − OTA",
    "no-form": "AM − form",
    "no-context": "AM − context",
}


def title_of(configuration: str) -> str:
    """What tables call a configuration."""
    return TITLES.get(configuration, configuration)


def targets_of(configuration: str, targets: WordVectors | None) -> WordVectors | None:
    """The vectors of several pieces a configuration learns from; without OTA there are none."""
    return None if configuration == "no-ota" else targets


def train_configuration(
    lm: LanguageModel,
    store: Store,
    targets: WordVectors | None,
    configuration: str,
    settings: MimicSettings,
    *,
    prepared: PreparedContexts,
    words_after: Callable[[int], Sequence[str]],
    keep: Callable[[EpochReport, InferredWords], None],
    approximations: WordVectors | None = None,
    checkpoint: Path | None = None,
) -> AttentiveMimicking:
    """Train one configuration, and make vectors on the way.

    As the learning rate stays the same, the model after five of ten epochs is that of a training of five.

    :param words_after: the words to make vectors of after an epoch; none where it is not to be measured.
    :param keep: takes the vectors.
    :param approximations: of words of several pieces, for configurations that use them in vectors.
    """

    def after_epoch(report: EpochReport, mimic: AttentiveMimicking) -> None:
        message(
            f"{title_of(configuration)}, seed {settings.seed}: epoch {report.epoch} of {settings.epochs}, "
            f"loss {report.loss:.5f}, {report.context_share:.0%} from contexts, "
            f"{report.examples_per_second:,.0f} examples/s"
        )
        if report.epoch < settings.epochs:
            measure(report, mimic)

    def measure(report: EpochReport, mimic: AttentiveMimicking) -> None:
        words = words_after(report.epoch)
        if words:
            keep(report, mimic.infer_words(words, store, prepared=prepared))

    mimic = AttentiveMimicking.fit(
        lm,
        store,
        targets_of(configuration, targets),
        settings,
        prepared=prepared,
        approximations=approximations,
        after_epoch=after_epoch,
        checkpoint=checkpoint,
    )
    # Here, not in the last epoch: a training found complete has no epoch left to be measured in.
    measure(mimic.history[-1], mimic)
    return mimic

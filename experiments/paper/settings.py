"""How much of the paper's experiments is run, and with which seeds."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch

from rarewords._internal.schema import bounded, check_bounds
from rarewords.errors import InputError
from rarewords.mimic.settings import MimicSettings, preset
from rarewords.ota.objective import draw, word_key
from rarewords.wnlampro.dataset import Dataset, Entry, band_of

T = TypeVar("T")


@dataclass(frozen=True)
class Configuration:
    """A configuration of the paper's ablation; with ``ota`` it also learns from words of several subwords."""

    title: str
    settings: MimicSettings
    ota: bool = True


CONFIGURATIONS = {
    "am": Configuration("AM", preset("am")),
    "am+context": Configuration("AM+context", preset("am+context")),
    "no-ota": Configuration("AM − OTA", preset("am"), ota=False),
    "no-form": Configuration("AM − form", preset("am", form=False)),
    "no-context": Configuration("AM − context", preset("am", context=False)),
}


@dataclass(frozen=True)
class ReproduceSettings:
    """The size and the seed of the experiments; the default sizes are the paper's.

    :param name: the name of a sample, for the report.
    :param curve_words: number of one-subword words in the development figure of one-token approximation.
    :param curve_steps: number of its steps.
    :param cell_entries: at most this many entries of each set, relation and frequency; None takes all.
    :param targets: at most this many training words of several subwords; None takes all of them.
    :param ota_steps: steps of preset ``fast`` by which words of several subwords are approximated. The
        paper's 4,000 in RANDOM contexts come no nearer to the subwords and take more than an hour on a GPU.
    :param contexts: at most this many contexts per word; None takes all that the corpus keeps.
    :param copies_max: at most this many training instances per word and epoch.
    :param epochs: the epochs after which a training is measured; the last one ends it.
    :param seeds: how often each configuration is trained.
    :param seed: seed of every random choice; trainings use ``seed``, ``seed + 1`` …
    """

    name: str = "full"
    curve_words: int = bounded(1000, at_least=1)
    curve_steps: int = bounded(5000, at_least=1)
    cell_entries: int | None = bounded(None, at_least=1)
    targets: int | None = bounded(None, at_least=1)
    ota_steps: int = bounded(100, at_least=1)
    contexts: int | None = bounded(None, at_least=1)
    copies_max: int = bounded(5, at_least=1)
    epochs: tuple[int, ...] = (5, 10)
    seeds: int = bounded(3, at_least=1)
    seed: int = bounded(0, at_least=0)

    def __post_init__(self) -> None:
        check_bounds(self)
        if not self.epochs or list(self.epochs) != sorted(set(self.epochs)) or self.epochs[0] < 1:
            raise InputError(f"the measured epochs must increase from 1 on, not {self.epochs}", code="settings")

    @property
    def whole(self) -> bool:
        """Whether the experiments have the paper's size, whatever the seeds."""
        return replace(self, seed=0, seeds=ReproduceSettings.seeds) == ReproduceSettings()

    @property
    def training_seeds(self) -> tuple[int, ...]:
        """The seeds each configuration is trained with."""
        return tuple(range(self.seed, self.seed + self.seeds))

    def mimic(self, configuration: str, seed: int) -> MimicSettings:
        """How a configuration is trained."""
        usual = CONFIGURATIONS[configuration].settings
        return replace(usual, epochs=self.epochs[-1], copies_max=self.copies_max, seed=seed)


QUICK = ReproduceSettings(
    "quick",
    curve_words=24,
    curve_steps=300,
    cell_entries=25,
    targets=100,
    ota_steps=30,
    contexts=12,
    copies_max=1,
    epochs=(2, 4),
    seeds=1,
)


def sample_dataset(dataset: Dataset, settings: ReproduceSettings) -> Dataset:
    """A seeded sample of each set, relation and frequency."""
    if settings.cell_entries is None:
        return dataset
    cells: dict[tuple[str, str, str], list[Entry]] = defaultdict(list)
    for entry in dataset:
        cells[entry.subset, entry.relation, band_of(entry.word.count)].append(entry)
    kept = [entry for cell in cells.values() for entry in sample(cell, settings.cell_entries, settings.seed)]
    return Dataset(tuple(kept), f"a sample of {len(kept)} of {dataset.name}")


def sample(items: Sequence[T], most: int, seed: int) -> list[T]:
    """A seeded choice of at most ``most`` items."""
    key = torch.tensor([word_key([-4], seed)])
    order = torch.argsort(draw(key, torch.arange(len(items)), 2**31)[:, 0], stable=True)
    return [items[place] for place in order[:most].tolist()]

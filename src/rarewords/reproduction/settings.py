"""How much of the paper's experiments is run, and with which seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rarewords.errors import InputError
from rarewords.mimic.settings import MimicSettings, preset
from rarewords.ota.settings import PRESETS, OtaSettings
from rarewords.reproduction.configurations import CONFIGURATIONS


@dataclass(frozen=True)
class Sample:
    """How large each experiment is; the defaults are the paper's.

    :param ota_words: one-piece words of the development figure of one-token approximation.
    :param ota_iterations: its iterations.
    :param dev_entries: entries of WNLaMPro dev, every relation and frequency with its share; None: all.
    :param test_entries: likewise of WNLaMPro test.
    :param smallest_cell: entries that each relation and frequency keeps at least.
    :param targets: how many training words of several pieces get a one-token approximation; None: all.
    :param averaging_steps: steps of the approximation of words of several pieces; None: the preset's.
    :param contexts: contexts read of each word; None: all that the store keeps.
    :param min_count: attentive mimicking learns from words that occur so often.
    :param copies_max: the most training instances of a word in an epoch.
    :param epochs: when a training is measured; the last one ends it.
    :param drawn: examples drawn by lot from each relation, beside the paper's words.
    """

    name: str = "full"
    ota_words: int = 1000
    ota_iterations: int = 5000
    dev_entries: int | None = None
    test_entries: int | None = None
    smallest_cell: int = 12
    targets: int | None = None
    averaging_steps: int | None = None
    contexts: int | None = None
    min_count: int = 100
    copies_max: int = 5
    epochs: tuple[int, ...] = (5, 10)
    drawn: int = 3

    def __post_init__(self) -> None:
        numbers = {name: value for name, value in asdict(self).items() if isinstance(value, int)}
        small = next((name for name, value in numbers.items() if value < 1), None)
        if small is not None:
            raise InputError(f"the sample's {small} must be at least 1, not {numbers[small]}")
        if not self.epochs or list(self.epochs) != sorted(set(self.epochs)) or self.epochs[0] < 1:
            raise InputError(f"the epochs measured must rise from 1 on, not {self.epochs}")

    @property
    def whole(self) -> bool:
        """Whether this is the paper's size."""
        return self == Sample()


SAMPLES = {
    "full": Sample(),
    "quick": Sample(
        "quick",
        ota_words=24,
        ota_iterations=300,
        dev_entries=150,
        test_entries=300,
        targets=100,
        averaging_steps=30,
        contexts=12,
        copies_max=1,
        epochs=(2, 4),
    ),
    "tiny": Sample(
        "tiny",
        ota_words=6,
        ota_iterations=30,
        dev_entries=20,
        test_entries=30,
        smallest_cell=2,
        targets=12,
        averaging_steps=4,
        contexts=8,
        min_count=15,
        copies_max=1,
        epochs=(1, 2),
        drawn=1,
    ),
}


@dataclass(frozen=True)
class ReproduceSettings:
    """Everything the tables depend on, besides model, corpus and data set.

    :param sample: how large the experiments are; a name of ``SAMPLES`` or sizes of one's own.
    :param seed: of every random choice.
    :param seeds: how often each configuration of the ablation is trained, with seeds ``seed``, ``seed + 1`` …
    :param ota_preset: how words of several pieces are approximated: ``fast``, or ``paper``, 4000 steps.
    :param configurations: those of the ablation.
    """

    sample: Sample = field(default_factory=Sample)
    seed: int = 0
    seeds: int = 1
    ota_preset: str = "fast"
    configurations: tuple[str, ...] = ("am", "am+context", "no-ota", "no-form", "no-context")

    def __post_init__(self) -> None:
        if self.seed < 0 or self.seeds < 1:
            raise InputError("the seed must be 0 or more, and there must be at least one seed")
        if self.ota_preset not in PRESETS:
            raise InputError(f"no preset {self.ota_preset!r} of one-token approximation; use fast or paper")
        unknown = [one for one in self.configurations if one not in CONFIGURATIONS]
        if unknown:
            raise InputError(f"unknown configuration {unknown[0]!r}; use {', '.join(CONFIGURATIONS)}")
        if "am" not in self.configurations:
            raise InputError("the configurations are compared with 'am'; name it as well")

    @classmethod
    def sized(cls, sample: str, **changes: Any) -> ReproduceSettings:
        """Settings of a sample by its name: ``full``, ``quick`` or ``tiny``."""
        if sample not in SAMPLES:
            raise InputError(f"unknown sample {sample!r}; use {', '.join(SAMPLES)}")
        return cls(SAMPLES[sample], **changes)

    @property
    def training_seeds(self) -> Sequence[int]:
        """The seeds each configuration is trained with."""
        return range(self.seed, self.seed + self.seeds)

    def ota(self) -> OtaSettings:
        """How words of several pieces are approximated."""
        steps = self.sample.averaging_steps
        if steps is None:
            return OtaSettings.preset(self.ota_preset, seed=self.seed)
        changed = {"fast": "averaging_steps", "paper": "iterations"}[self.ota_preset]
        return OtaSettings.preset(self.ota_preset, seed=self.seed, **{changed: steps})

    def ota_text(self) -> str:
        """The same for a reader."""
        made = self.ota()
        steps = made.iterations if self.ota_preset == "paper" else made.averaging_steps
        return f"preset {self.ota_preset}, {steps:,} steps"

    def curve(self, contexts: str) -> OtaSettings:
        """How the development figure approximates: the paper's preset, for longer."""
        return OtaSettings.preset(
            "paper", contexts=contexts, iterations=self.sample.ota_iterations, seed=self.seed
        )

    def mimic(self, configuration: str, seed: int) -> MimicSettings:
        """How a configuration of the ablation is trained."""
        base, changes = CONFIGURATIONS[configuration]
        size = self.sample
        sizes: dict[str, Any] = {
            "epochs": size.epochs[-1],
            "min_count": size.min_count,
            "copies_max": size.copies_max,
        }
        if size.contexts is not None:
            # A sample reads few contexts, so there are no more to draw.
            usual = preset(base)
            sizes["contexts_max"] = max(usual.contexts_min, min(usual.contexts_max, size.contexts))
        return preset(base, **{**sizes, **changes, "seed": seed})

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        values = asdict(self)
        values["sample"]["epochs"] = list(self.sample.epochs)
        values["configurations"] = list(self.configurations)
        return values

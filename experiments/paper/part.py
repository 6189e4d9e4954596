"""A part of the reproduction: a result that is saved, shown, and tested against the paper's conclusions."""

import math
import tomllib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import IntEnum
from importlib.resources import files
from pathlib import Path
from statistics import stdev
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from experiments.paper.experiment import Experiment
from experiments.paper.published import CLAIMS
from rarewords._internal.tables import markdown_table
from rarewords.wnlampro.comparison import Comparison
from rarewords.wnlampro.tables import figure, relation_title, signed

SEEN, IN_PART, NOT_SEEN, UNTESTED = VERDICTS = ("seen", "seen in part", "not seen", "not tested")
EMPTY = "–"
TEXTS: dict[str, Any] = tomllib.loads((files("experiments.paper") / "report.toml").read_text("utf-8"))


def to_json(value: Any) -> Any:
    """A dataclass and everything in it as JSON holds it; NaN becomes null."""
    if is_dataclass(value):
        return {one.name: to_json(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {key: to_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(one) for one in value]
    return None if isinstance(value, float) and math.isnan(value) else value


@dataclass(frozen=True)
class Check:
    """One thing a conclusion says, the numbers that decide it, and whether it holds."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Claim:
    """A conclusion of the paper and what our results say about it.

    :param published: the paper's figures for it.
    :param test: the test that decides each check.
    """

    statement: str
    published: str
    test: str
    checks: tuple[Check, ...]

    @classmethod
    def of(cls, name: str, *checks: Check) -> Self:
        """A conclusion by its name in ``published.toml``, and the checks that decide it."""
        return cls(**CLAIMS[name], checks=checks)

    @property
    def verdict(self) -> str:
        """``seen`` if every check holds, ``not seen`` if none does."""
        if not self.checks:
            return UNTESTED
        held = sum(check.holds for check in self.checks)
        return SEEN if held == len(self.checks) else IN_PART if held else NOT_SEEN

    @property
    def evidence(self) -> str:
        """The check of a claim that has one; otherwise how many hold, and the first that does not."""
        if not self.checks:
            return "no entries to test it on"
        if len(self.checks) == 1:
            return self.checks[0].text
        failed = [check.text for check in self.checks if not check.holds]
        held = f"{len(self.checks) - len(failed)} of {len(self.checks)} hold"
        return f"{held}; not {failed[0]}" if failed else f"{held}, for example {self.checks[0].text}"


def p_text(p: float) -> str:
    """A p-value for a reader: ``0.0123 -> 'p = 0.012'``."""
    return "p < 0.001" if p < 0.001 else f"p = {figure(p)}"


def count_verdicts(claims: Sequence[Claim]) -> str:
    """How many claims have each verdict: ``3 seen, 1 not seen``."""
    numbers = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{numbers[verdict]} {verdict}" for verdict in VERDICTS if numbers[verdict])


class Wait(IntEnum):
    """What a stage has to wait for; what others wait for comes first."""

    NOTHING, APPROXIMATIONS, TRAININGS = range(3)


class Stage(NamedTuple):
    """A stage, as a function without arguments that makes or finds it."""

    wait: Wait
    make: Callable[[], object]


class Part(ABC):
    """An experiment of the paper; its fields are the result."""

    name: ClassVar[str]
    title: ClassVar[str]

    @classmethod
    @abstractmethod
    def run(cls, experiment: Experiment, folder: Path) -> Self:
        """Run the experiment; raw results go into the folder."""

    @classmethod
    @abstractmethod
    def stages(cls, experiment: Experiment) -> Sequence[Stage]:
        """The stages of :meth:`run` that several processes can make side by side."""

    @abstractmethod
    def markdown(self, figures: Path) -> Sequence[str]:
        """Paragraphs, figures and tables beside the paper's; figures are drawn into the folder."""

    def text(self, name: str, **values: Any) -> str:
        """One of the part's texts in ``report.toml``, with its numbers."""
        text: str = TEXTS[self.name][name]
        return text.format(self=self, **values)

    def picture(self) -> str:
        """The part's figure with its caption."""
        return f"![{self.text('picture')}](figures/{self.name}.svg)\n\n*{self.text('picture')}*"

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
        """A table with the part's caption; the first ``left`` columns are text, the others numbers."""
        return f"*{self.text('table')}*\n\n{markdown_table(header, rows, left=left)}"

    @abstractmethod
    def claims(self) -> Sequence[Claim]:
        """The paper's conclusions, tested on the result."""

    def reasons(self, facts: Mapping[str, Any]) -> Sequence[str]:
        """Why our figures differ from the paper's, given the sizes of the inputs."""
        return [text.format(self=self, **facts) for text in TEXTS[self.name].get("reasons", ())]


def about_seeds(compared: Comparison) -> str:
    """What to know about the runs with several seeds."""
    number = max(map(len, compared.cells[-1].runs["mrr"]))
    return f"Means of {number} seeds ± their standard deviation." if number > 1 else "**One seed.**"


def cell_text(compared: Comparison, method: int, relation: str = "all", band: str = "all", metric: str = "mrr") -> str:
    """Mean and spread over seeds; if entries differ significantly from the first method, how many and which way.

    ``0.428 ↓169/221`` is worse: 169 entries are better, 221 worse. The mean may say otherwise.
    """
    cell = compared.at.get((relation, band))
    if cell is None:
        return EMPTY
    text = figure(cell.measures[metric][method].mean)
    runs = cell.runs[metric][method]
    text += f" ± {figure(stdev(runs))}" if len(set(runs)) > 1 else ""
    found = cell.differences[metric][method - 1] if method else None
    if found is None or not found.direction:
        return text
    return f"{text} {'↑' if found.direction > 0 else '↓'}{found.wins:,}/{found.losses:,}"


def change(
    compared: Comparison, relation: str = "all", band: str = "all", *, better: bool = True, name: str = ""
) -> Check:
    """Whether the last method is significantly better (or worse) than the first, in every seed."""
    cell, sign = compared.at[relation, band], 1 if better else -1
    difference, (first, *_, last) = cell.differences["mrr"][-1], cell.measures["mrr"]
    gains = sign * np.subtract(cell.runs["mrr"][-1], cell.runs["mrr"][0])
    agree = int((gains > 0).sum())
    seeds = f"{agree} of {len(gains)} seeds" if len(gains) > 1 else "one seed"
    return Check(
        f"{name or relation_title(relation)}: {figure(first.mean)} → {figure(last.mean)} "
        f"({signed(difference.mean)}, {p_text(difference.p_value)}, n = {cell.entries:,}, {seeds})",
        agree == len(gains) and difference.direction == sign,
    )

"""A part of the reproduction: a result that is saved, shown, and tested against the paper's conclusions."""

import tomllib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from statistics import stdev
from typing import Any, ClassVar, Self

import numpy as np

from rarewords.paper.experiment import Experiment, Facts
from rarewords.paper.published import CLAIMS
from rarewords.probe.compare import ComparedCell, Comparison, Difference, binomial_test, compare
from rarewords.probe.result import ProbeResult
from rarewords.report.tables import figure, markdown_table, relation_title, signed

SEEN, IN_PART, NOT_SEEN, UNTESTED = VERDICTS = ("seen", "seen in part", "not seen", "not tested")
LEVEL = 0.05
EMPTY = "–"
_TEXTS: dict[str, Any] = tomllib.loads((files("rarewords") / "paper" / "report.toml").read_text("utf-8"))


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


@dataclass(frozen=True)
class SignTest:
    """How often one of two results is better, item by item."""

    wins: int
    losses: int

    @property
    def p(self) -> float:
        """The p-value of the two-sided binomial test."""
        return binomial_test(self.wins, self.wins + self.losses)

    @property
    def better(self) -> bool:
        """Whether the first result is significantly better."""
        return self.wins > self.losses and self.p < LEVEL


def p_text(p: float) -> str:
    """A p-value for a reader: ``0.0123 -> 'p = .012'``."""
    return "p < .001" if p < 0.001 else f"p = {figure(p)}"


def counted(claims: Sequence[Claim]) -> str:
    """How many claims have each verdict: ``3 seen, 1 not seen``."""
    numbers = Counter(claim.verdict for claim in claims)
    return ", ".join(f"{numbers[verdict]} {verdict}" for verdict in VERDICTS if numbers[verdict])


class Part(ABC):
    """An experiment of the paper; its fields are the result.

    :cvar beyond: not an experiment of the paper's.
    :cvar trains: the configurations of attentive mimicking that it measures.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    beyond: ClassVar[bool] = False
    trains: ClassVar[tuple[str, ...]] = ()

    @classmethod
    @abstractmethod
    def run(cls, experiment: Experiment, folder: Path) -> Self:
        """Run the experiment; raw results go into the folder."""

    @abstractmethod
    def markdown(self, figures: Path) -> str:
        """Text and tables beside the paper's; figures are drawn into the folder."""

    def said(self, name: str, **values: Any) -> str:
        """One of the part's texts in ``report.toml``, with its numbers."""
        text: str = _TEXTS[self.name][name]
        return text.format(self=self, **values)

    def claims(self) -> Sequence[Claim]:
        """The paper's conclusions, tested on the result."""
        return ()

    def reasons(self, _: Facts) -> Sequence[str]:
        """Why our figures differ from the paper's."""
        return ()


@dataclass(frozen=True)
class OverSeeds:
    """Methods against the first of them: as means over seeds, and for each seed by itself."""

    mean: Comparison
    seeds: tuple[Comparison, ...]

    @classmethod
    def of(cls, methods: Sequence[Sequence[ProbeResult]]) -> Self:
        """Compare methods that have one result per seed, or one result for all seeds."""
        number = max(len(runs) for runs in methods)
        by_seed = [[runs[min(seed, len(runs) - 1)] for runs in methods] for seed in range(number)]
        mean = compare([_Mean.of(runs) for runs in methods])
        return cls(mean, tuple(compare(results, samples=1) for results in by_seed))  # no intervals are shown

    @property
    def about(self) -> str:
        """What the reader has to know about the seeds."""
        number = len(self.seeds)
        return f"Means of {number} seeds ± their standard deviation." if number > 1 else "**One seed.**"

    def cell(self, method: int, relation: str = "all", band: str = "all", metric: str = "mrr") -> str:
        """Mean and spread over seeds, with ``*`` if the difference from the first method is significant."""
        found = self.mean.cell(relation, band)
        if found is None:
            return EMPTY
        text = figure(getattr(found.cells[method], metric).mean)
        star = "\\*" if method and found.differences[metric][method - 1].significant() else ""
        cells = [cell_of(seed, relation, band).cells[method] for seed in self.seeds]
        spread = [getattr(cell, metric).mean for cell in cells]
        return text + star + (f" ± {figure(stdev(spread))}" if len(set(spread)) > 1 else "")

    def difference(self, relation: str = "all", band: str = "all") -> Difference:
        """How the last method differs from the first in MRR."""
        return cell_of(self.mean, relation, band).differences["mrr"][-1]

    def change(
        self, relation: str = "all", band: str = "all", *, better: bool = True, name: str = ""
    ) -> Check:
        """Whether the last method is significantly better (or worse) than the first, in every seed."""
        first, *_, last = cell_of(self.mean, relation, band).cells
        found = self.difference(relation, band)
        gains = [cell_of(seed, relation, band).differences["mrr"][-1].mean for seed in self.seeds]
        sign = 1 if better else -1
        agree = sum(sign * gain > 0 for gain in gains)
        seeds = f"{agree} of {len(gains)} seeds" if len(gains) > 1 else "one seed"
        won = sign * (found.wins - found.losses) > 0
        return Check(
            f"{name or relation_title(relation)}: {figure(first.mrr.mean)} → {figure(last.mrr.mean)} "
            f"({signed(found.mean)}, {p_text(found.p_value)}, n = {first.entries:,}, {seeds})",
            agree == len(gains) and won and found.significant(),
        )


def cell_of(comparison: Comparison, relation: str, band: str) -> ComparedCell:
    """A cell that is known to have entries."""
    cell = comparison.cell(relation, band)
    assert cell is not None
    return cell


@dataclass(frozen=True, eq=False)
class _Mean(ProbeResult):
    """The mean of several runs, entry by entry; ranks and hits are those of the first."""

    runs: Sequence[ProbeResult] = ()

    @classmethod
    def of(cls, runs: Sequence[ProbeResult]) -> Self:
        return cls(**{field.name: getattr(runs[0], field.name) for field in fields(ProbeResult)}, runs=runs)

    def values(self, metric: str) -> np.ndarray:
        mean: np.ndarray = np.mean([run.values(metric) for run in self.runs], axis=0)
        return mean


def paragraphs(*blocks: str) -> str:
    """Blocks of Markdown with an empty line after each."""
    return "".join(f"{block.rstrip()}\n\n" for block in blocks)


def table(caption: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """A captioned table; the first ``left`` columns are text, the others numbers."""
    return f"*{caption}*\n\n{markdown_table(header, rows, left=left)}"


def picture(name: str, caption: str) -> str:
    """A figure of the folder ``figures`` with its caption."""
    return f"![{caption}](figures/{name}.svg)\n\n*{caption}*\n"

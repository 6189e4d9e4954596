"""The paper's conclusions, each held against our results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SEEN, IN_PART, NOT_SEEN, UNTESTED = "seen", "seen in part", "not seen", "not tested"


@dataclass(frozen=True)
class Check:
    """One thing a conclusion says, and the number that decides it."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Claim:
    """A conclusion of the paper and what our results say about it.

    :param statement: the conclusion.
    :param source: where the paper draws it.
    :param published: the paper's figures for it.
    :param checks: what it says about our results, one by one.
    """

    part: str
    statement: str
    source: str
    published: str
    checks: tuple[Check, ...]

    @property
    def verdict(self) -> str:
        """``seen`` where every check holds, ``not seen`` where none does."""
        if not self.checks:
            return UNTESTED
        held = sum(check.holds for check in self.checks)
        return SEEN if held == len(self.checks) else IN_PART if held else NOT_SEEN

    def as_json(self) -> dict[str, Any]:
        """Plain values for the raw results."""
        return {
            "part": self.part,
            "statement": self.statement,
            "source": self.source,
            "published": self.published,
            "verdict": self.verdict,
            "checks": [vars(check) for check in self.checks],
        }


def p_text(p: float) -> str:
    """A p-value for a reader."""
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".")


def percent(value: float, digits: int = 0) -> str:
    """A relative difference: ``-0.045 -> '−4.5 %'``."""
    return f"{value:+.{digits}%}".replace("-", "−").replace("%", " %")


def counted(claims: Sequence[Claim]) -> Mapping[str, int]:
    """How many claims there are of each verdict."""
    return {
        verdict: sum(claim.verdict == verdict for claim in claims)
        for verdict in (SEEN, IN_PART, NOT_SEEN, UNTESTED)
    }

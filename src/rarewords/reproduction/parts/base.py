"""What a part of the reproduction is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarewords.reproduction.claims import Claim
from rarewords.reproduction.document import Block
from rarewords.reproduction.laboratory import Laboratory

Result = dict[str, Any]
Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Part:
    """An experiment of the paper: how it is run, and what is said of its result.

    A result is plain JSON, so that a report can be made of results alone.

    :param run: gets the laboratory and a folder for raw results.
    :param blocks: text, tables and figures; gets the result and a folder for figures.
    :param reasons: why our figures differ from the paper's; gets the result and the facts about the inputs.
    :param beyond: not an experiment of the paper's.
    """

    name: str
    title: str
    run: Callable[[Laboratory, Path], Result]
    blocks: Callable[[Result, Path], Sequence[Block]]
    claims: Callable[[Result], Sequence[Claim]]
    reasons: Callable[[Result, Facts], Sequence[str]]
    beyond: bool = False

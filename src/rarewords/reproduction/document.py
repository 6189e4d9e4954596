"""What a report is made of: sections of text, tables and figures, and how they look in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rarewords.report.tables import markdown_table
from rarewords.reproduction.claims import Claim

EMPTY = "–"


@dataclass(frozen=True)
class Text:
    """A paragraph; ``**bold**`` and `` `code` `` are marked as in Markdown."""

    text: str


@dataclass(frozen=True)
class Points:
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True)
class Table:
    """A table, also written to a file of its own.

    :param left: how many columns are text; the others are numbers.
    :param published: rows that are the paper's, shown as such.
    :param groups: rows that begin a group.
    :param over: titles over several columns, each with their number; a name without one of its own is "".
    """

    name: str
    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1
    published: frozenset[int] = frozenset()
    groups: frozenset[int] = frozenset()
    over: Sequence[tuple[str, int]] = ()

    def markdown(self) -> str:
        """As a Markdown table."""
        titles = [title for title, columns in self.over for _ in range(columns)] or [""] * len(self.header)
        header = [f"{title} {name}".strip() for title, name in zip(titles, self.header, strict=True)]
        return markdown_table(header, self.rows, left=self.left)


@dataclass(frozen=True)
class Figure:
    """A figure drawn as PNG and SVG.

    :param path: of both files, without the ending.
    """

    path: Path
    caption: str
    alt: str


@dataclass(frozen=True)
class Answers:
    """One question and the answers of several models; right answers are marked.

    :param rows: who answers, the answers, the answers that are right, and whether it is the paper.
    """

    question: str
    about: str
    rows: Sequence[tuple[str, Sequence[str], frozenset[str], bool]]


Block = Text | Points | Table | Figure | Answers


@dataclass(frozen=True)
class Section:
    """A part of the report.

    :param reasons: why our figures differ from the paper's.
    """

    name: str
    title: str
    blocks: Sequence[Block]
    claims: Sequence[Claim] = ()
    reasons: Sequence[str] = ()
    command: str = ""
    beyond: bool = False
    tables: Sequence[Table] = field(default=(), init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", tuple(one for one in self.blocks if isinstance(one, Table)))


def section_markdown(section: Section, folder: Path) -> str:
    """A section as Markdown; figures are linked from ``folder``."""
    lines = [f"## {section.title}", ""]
    for block in section.blocks:
        lines += [_block(block, folder), ""]
    if section.claims:
        lines += ["### The paper's conclusions", ""]
        for claim in section.claims:
            lines.append(f"- **{claim.verdict}**: {claim.statement} ({claim.source}; {claim.published})")
            lines += [f"  - {'✓' if check.holds else '✗'} {check.text}" for check in claim.checks]
        lines.append("")
    if section.reasons:
        title = "In short" if section.beyond else "Where and why ours differs"
        lines += [f"### {title}", "", *(f"- {reason}" for reason in section.reasons), ""]
    if section.command:
        lines += [f"Repeat: `{section.command}`", ""]
    return "\n".join(lines)


def _block(block: Block, folder: Path) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Points):
        return "\n".join(f"- {item}" for item in block.items)
    if isinstance(block, Table):
        return f"{block.caption}\n\n{block.markdown()}"
    if isinstance(block, Figure):
        return f"![{block.alt}]({block.path.relative_to(folder)}.svg)\n\n{block.caption}"
    rows = [f"  - {who}: {', '.join(answers)}" for who, answers, _, _ in block.rows]
    return "\n".join([f"- `{block.question}` {block.about}", *rows])

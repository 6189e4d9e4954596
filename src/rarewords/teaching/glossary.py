"""Glossaries: terms with their definitions, from a dict or a file: CSV, TSV, JSON lines or a Markdown table.

Columns are found by their names, in any order; a table without a header has the term in its first column and the
definition in its second::

    term,definition,synonyms,example
    paxlovid,an oral antiviral pill used to treat COVID-19,nirmatrelvir,She took paxlovid for five days.
"""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from rarewords._internal.files import open_text
from rarewords._internal.progress import message
from rarewords.errors import InputError

NO_DEFINITION = "its definition in the glossary is empty"
_COLUMNS = {
    "term": ("term", "word", "name", "acronym", "entry", "headword", "brand"),
    "definition": ("definition", "meaning", "description", "expansion", "gloss", "generic"),
    "synonyms": ("synonyms", "synonym", "also"),
    "abbreviation": ("abbreviation", "abbr", "short"),
    "example": ("example", "examples", "sentence", "usage"),
}
_LONGEST_FIELD = 1 << 20


@dataclass(frozen=True)
class GlossaryEntry:
    """What a glossary says about a term.

    :param definitions: one text for each definition and each synonym; empty if there is none.
    :param examples: sentences that use the term.
    """

    definitions: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    def __add__(self, other: "GlossaryEntry") -> "GlossaryEntry":
        definitions = dict.fromkeys([*self.definitions, *other.definitions])
        return GlossaryEntry(tuple(definitions), tuple(dict.fromkeys([*self.examples, *other.examples])))


Glossary = Mapping[str, GlossaryEntry]
GlossarySource = str | Path | Mapping[str, str | Sequence[str] | None]


def read_glossary(source: GlossarySource) -> dict[str, GlossaryEntry]:
    """The entries of a file, or of a dict of definitions; terms keep their spelling.

    >>> read_glossary({"oca": "a plant with edible tubers"})["oca"].definitions
    ('a plant with edible tubers',)
    """
    if not isinstance(source, str | Path | Mapping):
        raise _refusal(f"a glossary must be a dict or the name of a file, not a {type(source).__name__}")
    found: defaultdict[str, GlossaryEntry] = defaultdict(GlossaryEntry)
    for term, entry in _of_dict(source) if isinstance(source, Mapping) else _of_file(Path(source)):
        found[" ".join(term.split())] += entry
    found.pop("", None)
    if not found:
        name = "the glossary" if isinstance(source, Mapping) else source
        raise _refusal(f"{name} has no terms; give at least one term and its definition")
    return dict(found)


def _refusal(problem: str) -> InputError:
    return InputError(problem, code="glossary")


def _of_dict(source: Mapping[Any, Any]) -> Iterator[tuple[str, GlossaryEntry]]:
    for term, given in source.items():
        # Tables of pandas have None or NaN in an empty cell.
        empty = given is None or (isinstance(given, float) and given != given)
        texts = () if empty else (given,) if isinstance(given, str) else given
        if not isinstance(texts, list | tuple) or not all(isinstance(one, str) for one in [term, *texts]):
            problem = f"the glossary has {given!r:.60} for {term!r:.60}"
            raise _refusal(f"{problem}; give a text or a list of texts for each term")
        yield term, GlossaryEntry(tuple(filter(str.strip, texts)))


def _of_file(path: Path) -> Iterator[tuple[str, GlossaryEntry]]:
    for record in _records(path):
        synonyms = record.get("synonyms", "")
        mark = next((mark for mark in ";|" if mark in synonyms), ",")
        given = (record.get("definition", ""), *map(str.strip, synonyms.split(mark)))
        definitions = tuple(filter(str.strip, given))
        yield record["term"], GlossaryEntry(definitions, tuple(filter(str.strip, [record.get("example", "")])))
        if short := record.get("abbreviation", "").strip():
            yield short, GlossaryEntry((*definitions, record["term"].strip()))


def _records(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a file by the names of their columns."""
    name = path.name.lower().removesuffix(".gz")
    with open_text(path) as stream:
        lines = _text_lines(path, stream)
        if name.endswith((".jsonl", ".json", ".ndjson")):
            yield from _json_records(path, lines)
        elif name.endswith((".md", ".markdown")):
            cells = (_markdown_cells(line) for line in lines if line.strip().startswith("|"))
            yield from _named(path, (row for row in cells if not all(set(cell) <= set("-: ") for cell in row)))
        else:
            yield from _named(path, _csv_rows(path, lines, "\t" if name.endswith(".tsv") else None))


def _text_lines(path: Path, stream: Iterable[str]) -> Iterator[str]:
    for line in stream:
        if "\0" in line:
            raise _refusal(f"{path} is not a text file; save the table as CSV")
        yield line


def _csv_rows(path: Path, lines: Iterator[str], delimiter: str | None) -> Iterator[list[str]]:
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("sep=") and len(first.rstrip()) == 5:  # Excel's note to itself
        delimiter, first = first[4], ""
    # Spreadsheets of many countries write semicolons into their CSV files.
    marks = re.findall(r"[,;\t]", re.sub(r'"[^"]*"', "", first))
    csv.field_size_limit(_LONGEST_FIELD)
    reader, row = csv.reader(chain([first], lines), delimiter=delimiter or (*marks, ",")[0], strict=True), 0
    try:
        for row, cells in enumerate(reader, 1):  # noqa: B007 - the error names it
            yield cells
    except csv.Error as error:
        raise _refusal(f"{path}, after row {row}: {error}; check the quotes around its cells") from None


def _named(path: Path, rows: Iterable[list[str]]) -> Iterator[dict[str, str]]:
    """The cells of each row by column: a header's names, or else the term and then its definition."""
    columns: list[str] = []
    for number, row in enumerate((row for row in rows if any(map(str.strip, row))), 1):
        cells = [cell.strip() for cell in row]
        while not cells[-1]:
            cells.pop()
        if not columns:
            if len(cells) < 2:
                problem = f"{path} has one column, {cells[0][:40]!r}"
                raise _refusal(f"{problem}; give a term and a definition, separated by a comma or a tab")
            columns = [_column(cell) for cell in cells]
            if "term" not in columns and "definition" in columns and "" in columns:
                columns[columns.index("")] = "term"
            if "term" in columns and not {"definition", "synonyms"}.isdisjoint(columns):
                continue
            columns = ["term", "definition"]
            message(f"{path}: no header found, so {cells[0][:40]!r} is the first term")
        if len(cells) > len(columns):
            if columns[-1] != "definition":
                problem = f"{path}, row {number}: {len(cells)} cells under {len(columns)} columns"
                raise _refusal(f"{problem}; put quotes around text with commas")
            # A definition with commas and without quotes.
            cells[len(columns) - 1 :] = [", ".join(cells[len(columns) - 1 :])]
        record = {"term": ""} | {name: cell for name, cell in zip(columns, cells, strict=False) if name}
        if not record["term"]:
            problem = f"{path}, row {number}: a definition without a term, {' '.join(cells).strip()[:40]!r}"
            raise _refusal(f"{problem}; fill in the term, or remove the row")
        yield record


def _json_records(path: Path, lines: Iterable[str]) -> Iterator[dict[str, str]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            raise _refusal(f"{path}, line {number}: not a JSON object; give one object per line") from None
        texts = {}
        for title, value in record.items() if isinstance(record, dict) else ():
            texts[_column(title)] = "; ".join(map(str, value)) if isinstance(value, list) else value
        if not isinstance(texts.get("term"), str) or not {"definition", "synonyms"} & texts.keys():
            raise _refusal(f"{path}, line {number}: needs one object with the fields term and definition")
        yield {name: text for name, text in texts.items() if name and isinstance(text, str)}


def _markdown_cells(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
    return [cell.replace("\\|", "|").strip().strip("*`") for cell in cells]


def _column(title: str) -> str:
    plain = title.strip().strip("*`").lower()
    return next((name for name, titles in _COLUMNS.items() if plain in titles), "")

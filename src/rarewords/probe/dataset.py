"""The WNLaMPro data set: its entries, and the tab-separated format it is published in.

One entry a line, ``ID SET WORD RELATION TARGET TARGET …``, each word written ``lime (n,4.05,772)``: part of
speech, Zipf frequency, count in the corpus.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import overload

from rarewords.errors import InputError
from rarewords.files import whole_file

RELATIONS = ("antonym", "hypernym", "cohyponym", "corruption")
BANDS = ("rare", "medium", "frequent")
SETS = ("dev", "test")
BUNDLED_DATASET = "default"

_ANNOTATED = re.compile(r"(\S+) \(([a-z]+),(\d+(?:\.\d+)?),(\d+)\)")


@dataclass(frozen=True, slots=True)
class AnnotatedWord:
    """A word with what the data set says about it.

    :param pos: ``n`` for a noun, ``a`` for an adjective, ``x`` where WordNet has it as neither.
    :param zipf: log10 of its occurrences in a thousand million words; 0 for one that does not occur.
    :param count: its occurrences in the corpus the data set was built with.
    """

    text: str
    pos: str
    zipf: float
    count: int

    def __str__(self) -> str:
        return f"{self.text} ({self.pos},{self.zipf:.2f},{self.count})"

    @classmethod
    def parse(cls, written: str) -> AnnotatedWord:
        """Read ``lime (n,4.05,772)``; anything else is a ``ValueError``."""
        found = _ANNOTATED.fullmatch(written)
        if found is None:
            raise ValueError(f"{written!r} is not of the form 'word (n,4.95,64105)'")
        text, pos, zipf, count = found.groups()
        return cls(text, pos, float(zipf), int(count))


@dataclass(frozen=True, slots=True)
class Entry:
    """A keyword, a relation and the words that stand in that relation to it.

    :param subset: ``dev`` or ``test``.
    """

    id: str
    subset: str
    word: AnnotatedWord
    relation: str
    targets: tuple[AnnotatedWord, ...]

    def __post_init__(self) -> None:
        if self.subset not in SETS:
            raise ValueError(f"the set is {self.subset!r}, not dev or test")
        if self.relation not in RELATIONS:
            raise ValueError(f"the relation is {self.relation!r}, not one of {', '.join(RELATIONS)}")
        if not self.targets:
            raise ValueError(f"{self.word.text!r} has no targets")
        if not self.id.strip():
            raise ValueError("the ID is empty")

    @property
    def count(self) -> int:
        """How often the keyword occurs in the corpus."""
        return self.word.count

    def __str__(self) -> str:
        columns = [self.id, self.subset, str(self.word), self.relation, *map(str, self.targets)]
        return "\t".join(columns)


@dataclass(frozen=True)
class FrequencyBounds:
    """Where rare ends and where frequent begins.

    >>> [FrequencyBounds().band(count) for count in (0, 9, 10, 99, 100)]
    ['rare', 'rare', 'medium', 'medium', 'frequent']
    """

    medium: int = 10
    frequent: int = 100

    def __post_init__(self) -> None:
        if not 0 < self.medium < self.frequent:
            raise InputError(
                f"the bounds of the frequencies must rise from above 0: {self.medium}, {self.frequent}"
            )

    def band(self, count: int) -> str:
        """``rare``, ``medium`` or ``frequent``."""
        return BANDS[(count >= self.medium) + (count >= self.frequent)]


@dataclass(frozen=True)
class Dataset(Sequence[Entry]):
    """Entries in the order of their file."""

    entries: tuple[Entry, ...]
    name: str = field(default="WNLaMPro", compare=False)

    def __post_init__(self) -> None:
        ids = [entry.id for entry in self.entries]
        if len(set(ids)) != len(ids):
            twice = next(
                one for one, other in zip(sorted(ids), sorted(ids)[1:], strict=False) if one == other
            )
            raise InputError(f"{self.name}: the ID {twice} is given to more than one entry")

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Entry, ...]: ...
    def __getitem__(self, index: int | slice) -> Entry | tuple[Entry, ...]:
        return self.entries[index]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the entries as written, whatever the file was called or compressed with."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    def text(self) -> str:
        """The published format."""
        return "".join(f"{entry}\n" for entry in self.entries)

    def select(
        self,
        *,
        subset: str = "all",
        relations: Iterable[str] | None = None,
        bands: Iterable[str] | None = None,
        bounds: FrequencyBounds | None = None,
        limit: int | None = None,
    ) -> tuple[Entry, ...]:
        """The entries of a set, of some relations and frequencies.

        ``limit`` keeps that many of what is left, spread evenly so that every relation has its share.
        """
        if subset not in (*SETS, "all"):
            raise InputError(f"unknown set {subset!r}; use dev, test or all")
        wanted = set(RELATIONS) if relations is None else {relation_name(one) for one in relations}
        limits = bounds or FrequencyBounds()
        kept_bands = set(BANDS if bands is None else bands)
        if not kept_bands <= set(BANDS):
            unknown = sorted(kept_bands - set(BANDS))
            raise InputError(f"unknown frequency {unknown[0]!r}; use {', '.join(BANDS)}")
        chosen = [
            entry
            for entry in self.entries
            if subset in ("all", entry.subset)
            and entry.relation in wanted
            and limits.band(entry.count) in kept_bands
        ]
        if limit is not None and limit < 1:
            raise InputError(f"the limit must be at least 1, not {limit}")
        if limit is not None and limit < len(chosen):
            chosen = [chosen[i * len(chosen) // limit] for i in range(limit)]
        if not chosen:
            raise InputError(f"{self.name} has no entries of that set, relation and frequency")
        return tuple(chosen)

    def save(self, path: str | Path) -> None:
        """Write the published format, compressed where the name ends in ``.gz``; the same bytes each time."""
        raw = self.text().encode()
        with whole_file(path) as temporary, temporary.open("wb") as stream:
            stream.write(gzip_bytes(raw) if str(path).endswith(".gz") else raw)

    @classmethod
    def load(cls, path: str | Path = BUNDLED_DATASET) -> Dataset:
        """Read a file of the published format, plain or ``.gz``; ``default`` is the one that ships."""
        if str(path) == BUNDLED_DATASET:
            with as_file(files("rarewords") / "assets" / "wnlampro" / "wnlampro.tsv.gz") as bundled:
                return cls(tuple(_read(bundled)), "the bundled WNLaMPro")
        entries = tuple(_read(Path(path)))
        if not entries:
            raise InputError(f"{path} holds no entries")
        return cls(entries, str(path))


def relation_name(name: str) -> str:
    """A relation by its name or the paper's short one: ``coh+ -> cohyponym``."""
    lowered = name.strip().lower().removesuffix("+")
    for relation in RELATIONS:
        if lowered in (relation, relation[:3]):
            return relation
    raise InputError(f"unknown relation {name!r}; use {', '.join(RELATIONS)}")


def _read(path: Path) -> Iterator[Entry]:
    known: dict[str, AnnotatedWord] = {}  # targets repeat by the thousand; each is parsed and kept once

    def annotated(written: str) -> AnnotatedWord:
        if written not in known:
            known[written] = AnnotatedWord.parse(written)
        return known[written]

    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        columns = line.rstrip("\r\n").rstrip("\t").split("\t")
        try:
            if len(columns) < 5:
                raise ValueError(f"{len(columns)} columns where at least 5 are needed")
            identifier, subset, word, relation, *targets = columns
            yield Entry(
                identifier,
                subset,
                annotated(word),
                relation.removesuffix("+"),
                tuple(annotated(target) for target in targets),
            )
        except ValueError as error:
            raise InputError(f"{path}, line {number}: {error}") from None


def _lines(path: Path) -> Iterator[str]:
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        yield from io.StringIO(raw.decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"the data set {path} does not exist") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; give the data set's file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is a damaged .gz file: {error}") from None


def gzip_bytes(raw: bytes) -> bytes:
    """Compress so that the same content gives the same bytes."""
    # No time stamp and no name in the header, so that a rebuild gives the same bytes.
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as stream:
        stream.write(raw)
    return buffer.getvalue()

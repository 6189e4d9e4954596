"""The WNLaMPro data set: its entries, the patterns of each relation, and the tab-separated format.

One entry per line, ``ID SET WORD RELATION TARGET TARGET …``, each word written ``lime (n,4.05,772)``: part
of speech, Zipf frequency, count in the corpus.
"""

import hashlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Self

from rarewords._internal.files import open_text, write_lines
from rarewords.errors import InputError

RELATIONS = ("antonym", "hypernym", "cohyponym", "corruption")
BANDS = ("rare", "medium", "frequent")
MEDIUM, FREQUENT = 10, 100  # the counts from which a word is so
SETS = ("dev", "test")
BUNDLED_DATASET = "default"
_ASSETS = Path(str(files("rarewords") / "assets" / "wnlampro"))
_PATTERNS: dict[str, list[str]] = tomllib.loads((_ASSETS / "patterns.toml").read_text("utf-8"))
_ANNOTATED = re.compile(r"(\S+) \(([a-z]+),(\d+(?:\.\d+)?),(\d+)\)")


@dataclass(frozen=True, slots=True)
class AnnotatedWord:
    """A word with its annotation in the data set.

    :param pos: ``n`` for a noun, ``a`` for an adjective, ``x`` if WordNet has it as neither.
    :param zipf: log10 of its occurrences per billion words; 0 for a word that does not occur.
    :param count: its occurrences in the corpus that the data set was built from.
    """

    text: str
    pos: str
    zipf: float
    count: int

    def __str__(self) -> str:
        return f"{self.text} ({self.pos},{self.zipf:.2f},{self.count})"

    @classmethod
    def parse(cls, written: str) -> Self:
        """Read ``lime (n,4.05,772)``."""
        found = _ANNOTATED.fullmatch(written)
        if found is None:
            raise ValueError(f"{written!r} does not have the form 'word (n,4.95,64105)'")
        text, pos, zipf, count = found.groups()
        return cls(text, pos, float(zipf), int(count))


@dataclass(frozen=True, slots=True)
class Entry:
    """A keyword of ``dev`` or ``test``, and the target words that stand in a relation to it."""

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
        if len(self.id.split()) != 1:
            raise ValueError(f"the ID must be one word, not {self.id!r}")

    def __str__(self) -> str:
        return "\t".join([self.id, self.subset, str(self.word), self.relation, *map(str, self.targets)])


def band_of(count: int) -> str:
    """How frequent a word is that occurs this often.

    >>> [band_of(count) for count in (0, 9, 10, 99, 100)]
    ['rare', 'rare', 'medium', 'medium', 'frequent']
    """
    return BANDS[(count >= MEDIUM) + (count >= FREQUENT)]


@dataclass(frozen=True)
class Dataset:
    """Entries in the order of their file."""

    entries: tuple[Entry, ...]
    name: str = field(default="WNLaMPro", compare=False)

    def __post_init__(self) -> None:
        if not self.entries:
            raise InputError(f"{self.name} holds no entries", code="no-text")
        for identifier, uses in Counter(entry.id for entry in self.entries).items():
            if uses > 1:
                raise InputError(f"{self.name}: more than one entry has the ID {identifier}", code="wnlampro")

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the entries as written."""
        return hashlib.sha256(self.text().encode()).hexdigest()

    def text(self) -> str:
        """The published format."""
        return "".join(f"{entry}\n" for entry in self.entries)

    def select(self, *, subset: str = "all", limit: int | None = None) -> tuple[Entry, ...]:
        """The entries of ``dev``, ``test`` or ``all``.

        :param limit: keep at most N of them, evenly spread so that every relation has its share.
        """
        if subset not in (*SETS, "all"):
            raise InputError(f"unknown set {subset!r}; use dev, test or all", code="settings")
        if limit is not None and limit < 1:
            raise InputError(f"the limit must be at least 1, not {limit}", code="settings")
        chosen = [one for one in self.entries if subset in ("all", one.subset)]
        if limit is not None and limit < len(chosen):
            chosen = [chosen[i * len(chosen) // limit] for i in range(limit)]
        if not chosen:
            raise InputError(f"{self.name} has no entries of the set {subset}", code="wnlampro")
        return tuple(chosen)

    def save(self, path: str | Path) -> None:
        """Write the published format, compressed if the name ends in ``.gz``."""
        write_lines(path, [self.text()])


def load(path: str | Path = BUNDLED_DATASET) -> Dataset:
    """Read a file of the published format, plain or ``.gz``; ``default`` is the data set that ships."""
    return _bundled() if str(path) == BUNDLED_DATASET else Dataset(tuple(_read(Path(path))), str(path))


def patterns_for(relation: str, word: str) -> tuple[str, ...]:
    """The patterns of a relation, ready for this keyword.

    >>> patterns_for("hypernym", "onion")[2]
    'an <W> is a _.'
    """
    article = "an" if word[:1].lower() in tuple("aeiou") else "a"
    return tuple(pattern.replace("{a}", article) for pattern in _PATTERNS[relation])


@cache
def _bundled() -> Dataset:
    return Dataset(tuple(_read(_ASSETS / "wnlampro.tsv.gz")), "the bundled WNLaMPro")


def _read(path: Path) -> Iterator[Entry]:
    annotated = cache(AnnotatedWord.parse)  # targets repeat by the thousand
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            columns = line.rstrip("\n\t").split("\t")
            try:
                if len(columns) < 5:
                    raise ValueError(f"{len(columns)} columns instead of at least 5")
                identifier, subset, word, relation, *targets = columns
                parsed = tuple(map(annotated, targets))
                yield Entry(identifier, subset, annotated(word), relation.removesuffix("+"), parsed)
            except ValueError as error:
                raise InputError(f"{path}, line {number}: {error}", code="wnlampro") from None

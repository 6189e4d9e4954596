"""The finished corpus: how it is read. docs/concepts/corpus.md describes its files, which are mapped into memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rarewords._internal.cache import digest_of
from rarewords._internal.files import file_digest, read_json
from rarewords._internal.schema import LARGEST_NUMBER, parse
from rarewords.corpus.characters import Hash, Int
from rarewords.corpus.columns import offsets, ragged
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import split, word_hashes
from rarewords.errors import InputError

# Goes up whenever the same text would be cut or hashed otherwise, and when the files change.
FORMAT = "rarewords-corpus-3"
FILES = ("words.arrow", "contexts.arrow", "sentences.arrow")
SENTENCES_PER_BATCH = 128
_CONTEXTS_AT_ONCE, _WORDS_AT_ONCE = 20_000, 512


@dataclass(frozen=True)
class Totals:
    """What was read: all sentences and words of the text, and bytes that were not UTF-8 and were replaced."""

    sentences: int
    words: int
    replaced: int


@dataclass(frozen=True)
class File:
    """The size and the checksum of a file of a corpus."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Header:
    """What ``corpus.json`` says.

    :param sentences: number of sentences in the corpus, which are those that a sampled context needs.
    :param contexts: number of sampled contexts.
    :param texts: digests of the files that were read, sorted.
    """

    format: str
    settings: CorpusSettings
    totals: Totals
    sentences: int
    contexts: int
    texts: tuple[str, ...]
    files: dict[str, File]


class Context(NamedTuple):
    """A sentence as it was written, and the characters of the word in it."""

    sentence: str
    start: int
    end: int


class Corpus:
    """Counts and sampled contexts for every word of a text; :meth:`build` makes one, :meth:`open` opens it."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path, self.header = path, header
        self.settings, self.totals = header.settings, header.totals

    @classmethod
    def build(cls, texts: Any, out: str | Path, settings: CorpusSettings | None = None, **options: Any) -> Self:
        """Make a corpus from texts; see :func:`rarewords.corpus.build.build` for the arguments."""
        from rarewords.corpus.build import build  # which needs this class

        build(texts, out, settings, **options)
        return cls.open(out)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a corpus; an incomplete or damaged one is refused."""
        path = Path(path)
        file = path / "corpus.json"
        if not file.is_file():
            raise InputError(f"{path} is not a corpus; make one with rarewords corpus build", code="corpus")
        values = read_json(file)
        if not isinstance(values, dict) or values.get("format") != FORMAT:
            raise InputError(f"{path} is not a corpus of this version; build it again", code="corpus")
        header = parse(Header, values, file, "build the corpus again")
        for name in FILES:
            listed, place = header.files.get(name), path / name
            if listed is None or not place.is_file() or place.stat().st_size != listed.bytes:
                raise InputError(f"{place} is missing or damaged; build the corpus again", code="damaged")
        return cls(path, header)

    def check(self) -> None:
        """Compare every file with its checksum now, not on first use."""
        _ = self.words, self.context_rows, self.sentence_file

    @property
    def key(self) -> str:
        """What tells this corpus from others: the checksum of its files' checksums, in short."""
        return digest_of(*sorted((name, file.sha256) for name, file in self.header.files.items()))

    @cached_property
    def words(self) -> pa.Table:
        """One row per word: ``hash``, ``word``, ``count``, ``contexts``."""
        return self._open("words.arrow").read_all()

    @cached_property
    def context_rows(self) -> pa.Table:
        """One row per context: ``sentence`` and ``position``."""
        return self._open("contexts.arrow").read_all()

    @cached_property
    def sentence_file(self) -> pa.RecordBatchFileReader:
        """Record batches of :data:`SENTENCES_PER_BATCH` rows: ``text``."""
        return self._open("sentences.arrow")

    def __len__(self) -> int:
        """Number of distinct words in the text, those without contexts included."""
        return len(self.words)

    def find(self, words: Sequence[str]) -> Int:
        """The row of each word in the table of words, -1 if the text does not have it. *Shape:* (words,)"""
        # No word has white space in it, and none is empty.
        words = [word if word.split() == [word] else "" for word in words]
        hashes = word_hashes(words, lower_case=self.settings.lower_case)
        rows = np.minimum(np.searchsorted(self._hashes, hashes), len(self) - 1)
        return np.where(self._hashes[rows] == hashes, rows, -1)

    def count(self, word: str) -> int:
        """How often the word occurs in the text."""
        (row,) = self.find([word]).tolist()
        return 0 if row < 0 else int(self.words["count"][row].as_py())

    def counts(self, min_count: int = 1) -> tuple[list[str], Int]:
        """Words with contexts and at least ``min_count`` occurrences, and their counts, highest first."""
        table = self.words.select(["word", "count", "contexts"])
        enough = pc.field("count") >= min(min_count, LARGEST_NUMBER)
        table = table.filter(enough & (pc.field("contexts") > 0))
        table = table.sort_by([("count", "descending"), ("word", "ascending")])
        return table["word"].to_pylist(), table["count"].to_numpy()

    def contexts(self, word: str, contexts: int | None = None) -> list[Context]:
        """The sampled contexts of a word, at most ``contexts`` of them, which is itself a uniform sample."""
        ((_, found),) = self.contexts_of([word], contexts)
        return found

    def contexts_of(self, words: Sequence[str], contexts: int | None = None) -> Iterator[tuple[str, list[Context]]]:
        """:meth:`contexts` of many words, in their order: quicker, since each sentence is read once."""
        for first in range(0, len(words), _WORDS_AT_ONCE):
            part = words[first : first + _WORDS_AT_ONCE]
            owner, sentence, position = self.references(part, contexts)
            found = iter(self._located(sentence, position))
            for word, count in zip(part, np.bincount(owner, minlength=len(part)).tolist(), strict=True):
                yield word, list(islice(found, count))

    def references(self, words: Sequence[str], contexts: int | None = None) -> tuple[Int, Int, Int]:
        """The contexts of many words as references, at most ``contexts`` per word, those of a word together.

        :return: which of the asked words it is, row of the sentence, which word of the sentence.
            *Shape:* (contexts,) each
        """
        rows = self.find(words)
        asked = np.flatnonzero(rows >= 0)
        starts = self._starts[rows[asked]]
        sizes = self._starts[rows[asked] + 1] - starts
        if contexts is not None:
            sizes = np.minimum(sizes, min(contexts, self.settings.contexts))
        places = ragged(starts, sizes)
        sentence, position = (_take(self.context_rows[name], places) for name in ("sentence", "position"))
        return np.repeat(asked, sizes), sentence, position

    def context_texts(self, words: Sequence[str], contexts: int | None = None) -> Iterator[tuple[Int, list[Context]]]:
        """The contexts of many words, some thousand at a time.

        :return: which of the asked words each context belongs to, and the contexts. Sentences come in the
            order they lie on disk, each read once.
        """
        owner, sentence, position = self.references(words, contexts)
        order = np.argsort(sentence, kind="stable")
        for first in range(0, len(order), _CONTEXTS_AT_ONCE):
            chosen = order[first : first + _CONTEXTS_AT_ONCE]
            yield owner[chosen], self._located(sentence[chosen], position[chosen])

    def sentences(self, rows: Int) -> list[str]:
        """The text of sentences by row."""
        # Rows usually rise, so few batches at a time are needed.
        batch = lru_cache(16)(lambda number: self.sentence_file.get_batch(number).column(0))
        places = (divmod(row, SENTENCES_PER_BATCH) for row in rows.tolist())
        return [batch(number)[line].as_py() for number, line in places]

    def _located(self, sentence: Int, position: Int) -> list[Context]:
        """Contexts by reference: row of the sentence, and which word of it. *Shape:* (contexts,) each"""
        rows, line = np.unique(sentence, return_inverse=True)
        texts = self.sentences(rows)
        found = split("\n".join(texts), lower_case=False, sentences=False)
        at, begin = found.offsets[line] + position, found.cuts[line]
        starts, ends = (found.starts[at] - begin).tolist(), (found.ends[at] - begin).tolist()
        spans = zip(line.tolist(), starts, ends, strict=True)
        return [Context(texts[row], start, end) for row, start, end in spans]

    def _open(self, name: str) -> pa.RecordBatchFileReader:
        path = self.path / name
        # A damaged Arrow file can crash the process, so each file is compared with its checksum on first use.
        if _checksum(path, path.stat().st_mtime_ns) != self.header.files[name].sha256:
            raise InputError(f"{path} is damaged: its checksum differs; build the corpus again", code="damaged")
        options = pa.ipc.IpcReadOptions(use_threads=False)  # which small batches would only wait for
        return pa.ipc.open_file(pa.memory_map(str(path)), options=options)

    @cached_property
    def _starts(self) -> Int:
        """The first context of each word. *Shape:* (words + 1,)"""
        return offsets(self.words["contexts"].to_numpy())

    @cached_property
    def _hashes(self) -> Hash:
        return np.asarray(self.words["hash"])


def _take(column: pa.ChunkedArray, rows: Int) -> Int:
    """Some numbers of a column of an Arrow file, of which only these are read. *Shape:* (rows,)"""
    # Its record batches, except for the last one, have the same number of rows.
    size = len(column.chunk(0)) if len(column) else 1
    result, batches = np.zeros(len(rows), dtype=np.int64), rows // size
    for batch in np.unique(batches).tolist():
        own = batches == batch
        result[own] = column.chunk(batch).to_numpy()[rows[own] - batch * size]
    return result


@cache
def _checksum(path: Path, changed: int) -> str:  # noqa: ARG001 - a file that has changed is read again
    return file_digest(path)

"""The finished store: how it lies on disk and how it is read.

``words.arrow`` has one row per word, ordered by hash; ``contexts.arrow`` one row per sampled context, those of a
word together, ordered by the hash of the context; ``sentences.arrow`` one row per block of 128 sentences, their
text and their words as row numbers of ``words.arrow``, both compressed. All are Arrow files, read through the
page cache, so that opening is instant whatever the size. ``store.json`` holds settings, totals and checksums.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import zstandard

from rarewords.corpus import characters as ch
from rarewords.corpus.part import Totals, offsets, ragged
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import split, word_hashes
from rarewords.errors import InputError
from rarewords.files import file_digest, read_json

FORMAT = "rarewords-corpus-1"
FILES = ("words.arrow", "contexts.arrow", "sentences.arrow")
SENTENCES_PER_BLOCK = 128

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Context:
    """A word in its surroundings.

    ``left`` and ``right``: up to ``window`` words to each side, as in the vocabulary; ``sentence``: the sentence as
    it was written; ``start``, ``end``: the characters of the word in it.
    """

    left: tuple[str, ...]
    word: str
    right: tuple[str, ...]
    sentence: str
    start: int
    end: int


@dataclass(frozen=True)
class ContextArrays:
    """Contexts of many words as numbers, for training.

    ``word`` (contexts,): which of the asked words each belongs to; ``numbers`` (total,): the words of all
    contexts, the word itself included, as numbers into :meth:`Store.vocabulary`; ``starts`` (contexts + 1,): where
    each context starts in ``numbers``; ``position`` (contexts,): place of the word in its context; ``sentence``,
    ``sentence_position`` (contexts,): where it was found.
    """

    word: npt.NDArray[np.int64]
    numbers: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    position: npt.NDArray[np.int64]
    sentence: npt.NDArray[np.int64]
    sentence_position: npt.NDArray[np.int64]


class Store:
    """Counts and contexts of a text. Use :meth:`open`."""

    def __init__(self, path: Path, header: dict[str, Any]) -> None:
        self.path = path
        self.settings = CorpusSettings.from_dict(header["settings"], str(path))
        self.totals = Totals(**header["totals"])
        self._files: dict[str, dict[str, Any]] = header["files"]
        self.words = _Table(path / "words.arrow")
        self.context_rows = _Table(path / "contexts.arrow")
        self._blocks = _Table(path / "sentences.arrow")
        self.sentence_count: int = header["sentences"]

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """Open a store; what is not a whole store is refused."""
        path = Path(path)
        if not (path / "store.json").is_file():
            raise InputError(f"{path} is not a store; make one with rarewords corpus build")
        header = read_json(path / "store.json")
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise InputError(f"{path} is not a store of this version; build it again")
        for name, expected in header["files"].items():
            size = (path / name).stat().st_size if (path / name).is_file() else -1
            if size != expected["bytes"]:
                raise InputError(f"{path / name} is missing or damaged; build the store again")
        return cls(path, header)

    def verify(self) -> None:
        """Read every file and compare it with its checksum."""
        for name, expected in self._files.items():
            if file_digest(self.path / name) != expected["sha256"]:
                raise InputError(f"{self.path / name} is damaged: its checksum differs; build the store again")

    def __len__(self) -> int:
        """Number of distinct words in the text, those without contexts included."""
        return self.words.rows

    def vocabulary(self) -> list[str]:
        """All words of the text in the order of their numbers."""
        return self.words.strings("word")

    def find(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """The number of each word in the vocabulary, -1 where the text does not have it. *Shape:* (words,)"""
        if self.settings.lower_case:
            words = [ch.fold(word) for word in words]
        if not words or not len(self):
            return np.full(len(words), -1, dtype=np.int64)
        hashes = word_hashes(list(words))
        places = self.words.search("hash", hashes)
        safe = np.minimum(places, len(self) - 1)
        found: Array = np.where(self.words.take("hash", safe) == hashes, safe, -1)
        # A string with a line break or a space is never a word, whatever its hash.
        return np.where([not word or any(c.isspace() for c in word) for word in words], -1, found)

    def count(self, word: str) -> int:
        """How often the word occurs in the text."""
        number = int(self.find([word])[0])
        return 0 if number < 0 else int(self.words.take("count", np.array([number]))[0])

    def counts(self, min_count: int = 1) -> tuple[list[str], npt.NDArray[np.int64]]:
        """Words that have contexts and occur at least ``min_count`` times, most frequent first, and their counts."""
        counts = self.words.column("count")
        chosen = np.flatnonzero((counts >= min_count) & (self.words.column("contexts") > 0))
        words = self.words.strings("word")
        named = [words[number] for number in chosen.tolist()]
        order = sorted(range(len(named)), key=lambda place: (-int(counts[chosen[place]]), named[place]))
        return [named[place] for place in order], counts[chosen[order]] if order else np.zeros(0, dtype=np.int64)

    def contexts(self, word: str, limit: int | None = None) -> list[Context]:
        """The sampled contexts of a word, at most ``limit`` of them, which is itself a uniform sample."""
        number = int(self.find([word])[0])
        if number < 0:
            return []
        _, sentence, position = self._references(np.array([number]), limit)
        texts = self.sentences(sentence)
        words = split("\n".join(texts), lower_case=self.settings.lower_case, sentences=False)
        window = self.settings.window
        lines = offsets(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) + 1)
        result = []
        for line, place in enumerate(position.tolist()):
            first, last = int(words.offsets[line]), int(words.offsets[line + 1])
            at = first + place
            named = [
                self._folded(words.text[words.starts[i] : words.ends[i]])
                for i in range(max(first, at - window), min(last, at + window + 1))
            ]
            middle = at - max(first, at - window)
            start = int(lines[line])
            span = int(words.starts[at]) - start, int(words.ends[at]) - start
            result.append(
                Context(tuple(named[:middle]), named[middle], tuple(named[middle + 1 :]), texts[line], *span)
            )
        return result

    def context_arrays(self, words: Sequence[str], limit: int | None = None) -> ContextArrays:
        """The contexts of many words at once, as numbers; words the text does not have get none."""
        numbers = self.find(words)
        asked = np.flatnonzero(numbers >= 0)
        word, sentence, position = self._references(numbers[asked], limit)
        rows, place = np.unique(sentence, return_inverse=True)
        flat, starts = self.sentence_words(rows)
        window = self.settings.window
        begin, end = starts[place], starts[place + 1]
        left = np.maximum(begin, begin + position - window)
        right = np.minimum(end, begin + position + window + 1)
        lengths = right - left
        taken = flat[ragged(left, lengths)]
        return ContextArrays(
            asked[word], taken, offsets(lengths), begin + position - left, sentence, position
        )

    def sentences(self, rows: npt.NDArray[np.int64]) -> list[str]:
        """The text of sentences by row."""
        blocks: dict[int, list[bytes]] = {}
        result = []
        for row in rows.tolist():
            block, line = divmod(row, SENTENCES_PER_BLOCK)
            if block not in blocks:
                blocks[block] = zstandard.decompress(self._blocks.binary("text", block)).split(b"\n")
            result.append(blocks[block][line].decode("utf-8"))
        return result

    def sentence_words(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The words of sentences as numbers: all of them (total,), and where each sentence starts (rows + 1,).

        ``rows`` must be rising.
        """
        flat: list[Array] = []
        lengths: list[Array] = []
        edges = np.flatnonzero(np.diff(rows // SENTENCES_PER_BLOCK, prepend=-1, append=-1))
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            block, wanted = int(rows[start]) // SENTENCES_PER_BLOCK, rows[start:stop] % SENTENCES_PER_BLOCK
            sizes, numbers = unpack_words(self._blocks.binary("words", block), self._block_size(block))
            flat.append(numbers[ragged(offsets(sizes)[wanted], sizes[wanted])])
            lengths.append(sizes[wanted])
        empty = [np.zeros(0, dtype=np.int64)]
        return np.concatenate(flat or empty).astype(np.int64), offsets(np.concatenate(lengths or empty))

    def _folded(self, word: str) -> str:
        return ch.fold(word) if self.settings.lower_case else word

    def _block_size(self, block: int) -> int:
        return min(SENTENCES_PER_BLOCK, self.sentence_count - block * SENTENCES_PER_BLOCK)

    def _references(self, numbers: Array, limit: int | None) -> tuple[Array, Array, Array]:
        """For words by number: place among the asked, sentence and position of each of their contexts."""
        sizes = self.words.take("contexts", numbers).astype(np.int64)
        if limit is not None:
            sizes = np.minimum(sizes, limit)
        places = ragged(self.words.take("context_start", numbers), sizes)
        sentence = self.context_rows.take("sentence", places).astype(np.int64)
        position = self.context_rows.take("position", places).astype(np.int64)
        return np.repeat(np.arange(len(numbers)), sizes), sentence, position


def pack_block(texts: list[bytes], lengths: Array, numbers: Array) -> tuple[bytes, bytes]:
    """Compress the text of some sentences, and their lengths in words and word numbers."""
    compressor = zstandard.ZstdCompressor(level=3)
    columns = lengths.astype("<u2").tobytes() + _planes(numbers.astype("<u4"))
    return compressor.compress(b"\n".join(texts)), compressor.compress(columns)


def unpack_words(block: bytes, sentences: int) -> tuple[Array, Array]:
    """Lengths (sentences,) and word numbers (total,) of a block."""
    raw = zstandard.decompress(block)
    lengths = np.frombuffer(raw, dtype="<u2", count=sentences).astype(np.int64)
    planes = np.frombuffer(raw, dtype=np.uint8, offset=2 * sentences)
    return lengths, np.ascontiguousarray(planes.reshape(4, -1).T).view("<u4").ravel()


def _planes(numbers: Array) -> bytes:
    # All first bytes, then all second bytes ...: what is alike lies together and compresses better.
    return numbers.view(np.uint8).reshape(-1, 4).T.tobytes()


class _Table:
    """Columns of an Arrow file whose record batches all but the last have the same number of rows."""

    def __init__(self, path: Path) -> None:
        self._reader = pa.ipc.open_file(pa.memory_map(str(path)))
        count = self._reader.num_record_batches
        self._batches: dict[int, Any] = {}
        self._size = len(self._batch(0)) if count else 1
        self.rows = self._size * (count - 1) + len(self._batch(count - 1)) if count else 0
        self._count = count

    def column(self, name: str) -> Array:
        """A whole column of numbers. *Shape:* (rows,)"""
        parts = [self._numbers(name, batch) for batch in range(self._count)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def strings(self, name: str) -> list[str]:
        """A whole column of strings."""
        return [text for batch in range(self._count) for text in self._batch(batch)[name].to_pylist()]

    def take(self, name: str, rows: Array) -> Array:
        """Some numbers of a column. *Shape:* (rows,)"""
        batches = rows // self._size
        numbers = np.unique(batches).tolist()
        if len(numbers) == 1:
            return self._numbers(name, numbers[0])[rows - numbers[0] * self._size]
        result = np.zeros(len(rows), dtype=self._reader.schema.field(name).type.to_pandas_dtype())
        for batch in numbers:
            own = batches == batch
            result[own] = self._numbers(name, batch)[rows[own] - batch * self._size]
        return result

    def binary(self, name: str, row: int) -> bytes:
        value: bytes = self._batch(row // self._size)[name][row % self._size].as_py()
        return value

    def search(self, name: str, values: Array) -> Array:
        """Place of each value in a rising column. *Shape:* (values,)"""
        firsts = np.array([self._numbers(name, batch)[0] for batch in range(self._count)], dtype=np.uint64)
        batches = np.maximum(np.searchsorted(firsts, values, side="right") - 1, 0)
        result = np.zeros(len(values), dtype=np.int64)
        for batch in np.unique(batches).tolist():
            own = batches == batch
            result[own] = np.searchsorted(self._numbers(name, batch), values[own]) + batch * self._size
        return result

    def _numbers(self, name: str, batch: int) -> Array:
        numbers: Array = self._batch(batch)[name].to_numpy()
        return numbers

    def _batch(self, number: int) -> Any:
        if number not in self._batches:
            self._batches[number] = self._reader.get_batch(number)
        return self._batches[number]


def same_settings(stores: Iterable[Store]) -> CorpusSettings:
    """The settings of all these stores, which must be equal and forget nothing."""
    first, *rest = stores
    for other in rest:
        first.settings.require_equal(other.settings, str(first.path), str(other.path))
    if first.settings.min_count > 1:
        raise InputError(
            f"{first.path} was built with min-count {first.settings.min_count} and has no contexts of rarer "
            "words; build it with min-count 1 to add to it"
        )
    return first.settings

"""The finished store: how it lies on disk and how it is read.

``words.arrow`` has one row per word, ordered by hash; ``contexts.arrow`` one row per sampled context,
those of a word together, ordered by the hash of the context; ``sentences.arrow`` one row per block of 16
sentences, compressed against a dictionary of sentences. All are Arrow files, read through the
page cache, so that opening is instant whatever the size. ``store.json`` holds settings, totals and checksums.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import zstandard

from rarewords.corpus import characters as ch
from rarewords.corpus.part import Totals, offsets, ragged
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.text import blocks, split, word_hashes
from rarewords.errors import InputError
from rarewords.files import file_digest, read_json

FORMAT = "rarewords-corpus-1"
FILES = ("words.arrow", "contexts.arrow", "sentences.arrow")
SENTENCES_PER_BLOCK = 16
_CONTEXTS_AT_ONCE = 20_000

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Context:
    """A word in its surroundings.

    ``left`` and ``right``: up to ``window`` words to each side, as in the vocabulary; ``sentence``: the
    sentence as it was written; ``start``, ``end``: the characters of the word in it.
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
    contexts, the word itself included, as numbers into :meth:`Store.vocabulary`; ``starts`` (contexts + 1,):
    where each context starts in ``numbers``; ``position`` (contexts,): place of the word in its context;
    ``sentence``, ``sentence_position`` (contexts,): where it was found.
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
        self.blocks = _Table(path / "sentences.arrow")
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
                raise InputError(
                    f"{self.path / name} is damaged: its checksum differs; build the store again"
                )

    @property
    def digest(self) -> str:
        """What tells this store from others: the checksum of its files' checksums."""
        listed = sorted((name, about["sha256"]) for name, about in self._files.items())
        return hashlib.sha256(json.dumps(listed).encode()).hexdigest()

    def __len__(self) -> int:
        """Number of distinct words in the text, those without contexts included."""
        return self.words.rows

    def vocabulary(self) -> list[str]:
        """All words of the text in the order of their numbers."""
        return self.words.strings("word")

    def find(self, words: Sequence[str]) -> npt.NDArray[np.int64]:
        """The number of each word in the vocabulary, -1 where the text does not have it. *Shape:* (words,)"""
        words = [word if word.split() == [word] else "" for word in words]  # none has a space in it
        if self.settings.lower_case and words:
            words = ch.fold("\n".join(words)).split("\n")
        if not words or not len(self):
            return np.full(len(words), -1, dtype=np.int64)
        hashes = word_hashes(list(words))
        places = self.words.search("hash", hashes)
        safe = np.minimum(places, len(self) - 1)
        return np.where(
            (self.words.take("hash", safe) == hashes) & np.array([bool(w) for w in words]), safe, -1
        )

    def count(self, word: str) -> int:
        """How often the word occurs in the text."""
        number = int(self.find([word])[0])
        return 0 if number < 0 else int(self.words.take("count", np.array([number]))[0])

    def counts(self, min_count: int = 1) -> tuple[list[str], npt.NDArray[np.int64]]:
        """Words with contexts that occur ``min_count`` times or more, and their counts, the highest first."""
        table = self.words.table("word", "count", "contexts")
        table = table.filter((pc.field("count") >= min_count) & (pc.field("contexts") > 0))
        table = table.sort_by([("count", "descending"), ("word", "ascending")])
        return table["word"].to_pylist(), table["count"].to_numpy()

    def contexts(self, word: str, limit: int | None = None) -> list[Context]:
        """The sampled contexts of a word, at most ``limit`` of them, which is itself a uniform sample."""
        number = int(self.find([word])[0])
        if number < 0:
            return []
        _, sentence, position = self._references(np.array([number]), limit)
        texts = self.sentences(sentence)
        joined = "\n".join(texts)
        words = split(joined, lower_case=False, sentences=False)
        named = ch.fold(joined) if self.settings.lower_case else joined
        starts, ends = words.starts.tolist(), words.ends.tolist()
        firsts = words.offsets.tolist()
        line_start = 0
        window = self.settings.window
        result = []
        for line, (text, place) in enumerate(zip(texts, position.tolist(), strict=True)):
            at = firsts[line] + place
            left = max(firsts[line], at - window)
            around = [named[starts[i] : ends[i]] for i in range(left, min(firsts[line + 1], at + window + 1))]
            before, after = tuple(around[: at - left]), tuple(around[at - left + 1 :])
            span = starts[at] - line_start, ends[at] - line_start
            result.append(Context(before, around[at - left], after, text, *span))
            line_start += len(text) + 1
        return result

    def references(self, words: Sequence[str], limit: int | None = None) -> tuple[Array, Array, Array]:
        """The contexts of many words as references: place of the word among the asked, sentence, position.

        Each is an array of as many numbers as there are contexts, those of a word together.
        """
        numbers = self.find(words)
        asked = np.flatnonzero(numbers >= 0)
        word, sentence, position = self._references(numbers[asked], limit)
        return asked[word], sentence, position

    def context_texts(
        self, words: Sequence[str], limit: int | None = None
    ) -> Iterator[tuple[Array, list[tuple[str, int, int]]]]:
        """The contexts of many words as they were written, some thousand at a time.

        :return: the places of words among the asked, and for each the sentence and the characters of the word
            in it. Sentences come in the order they lie on disk, each read once.
        """
        owner, sentence, position = self.references(words, limit)
        order = np.argsort(sentence, kind="stable")
        for first in range(0, len(order), _CONTEXTS_AT_ONCE):
            chosen = order[first : first + _CONTEXTS_AT_ONCE]
            rows, line = np.unique(sentence[chosen], return_inverse=True)
            texts = self.sentences(rows)
            found = split("\n".join(texts), lower_case=False, sentences=False)
            begins = np.cumsum([0, *(len(text) + 1 for text in texts)])[:-1]
            at = found.offsets[line] + position[chosen]
            starts = (found.starts[at] - begins[line]).tolist()
            ends = (found.ends[at] - begins[line]).tolist()
            spans = zip(line.tolist(), starts, ends, strict=True)
            yield owner[chosen], [(texts[row], start, end) for row, start, end in spans]

    def context_arrays(self, words: Sequence[str], limit: int | None = None) -> ContextArrays:
        """The contexts of many words at once, as numbers; words the text does not have get none."""
        word, sentence, position = self.references(words, limit)
        rows, place = np.unique(sentence, return_inverse=True)
        flat, starts = self.sentence_words(rows)
        window = self.settings.window
        begin, end = starts[place], starts[place + 1]
        left = np.maximum(begin, begin + position - window)
        right = np.minimum(end, begin + position + window + 1)
        lengths = right - left
        taken = flat[ragged(left, lengths)]
        return ContextArrays(word, taken, offsets(lengths), begin + position - left, sentence, position)

    def sentences(self, rows: npt.NDArray[np.int64]) -> list[str]:
        """The text of sentences by row."""
        blocks: dict[int, list[bytes]] = {}
        result = []
        for row in rows.tolist():
            block, line = divmod(row, SENTENCES_PER_BLOCK)
            if block not in blocks:
                blocks[block] = self._unpack(self.blocks.binary("text", block)).split(b"\n")
            result.append(blocks[block][line].decode("utf-8"))
        return result

    def sentence_words(
        self, rows: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The words of sentences as numbers (total,), and where each sentence starts (rows + 1,)."""
        hashes, starts = self.sentence_hashes(rows)
        return self.words.search("hash", hashes), starts

    def sentence_hashes(
        self, rows: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """The words of sentences as hashes (total,), and where each sentence starts (rows + 1,)."""
        found = [
            split(block, lower_case=self.settings.lower_case, sentences=False)
            for block in blocks("\n".join([*self.sentences(rows), ""]))
        ]
        empty = [np.zeros(0, dtype=np.int64)]
        lengths = np.concatenate([words.lengths() for words in found] or empty)
        return np.concatenate([words.hashes for words in found] or empty).astype(np.uint64), offsets(lengths)

    @cached_property
    def _unpack(self) -> Callable[[bytes], bytes]:
        packed = self.blocks.metadata(b"dictionary")
        decompressor = zstandard.ZstdDecompressor(dict_data=_dictionary(zstandard.decompress(packed)))
        return decompressor.decompress

    def _references(self, numbers: Array, limit: int | None) -> tuple[Array, Array, Array]:
        """For words by number: place among the asked, sentence and position of each of their contexts."""
        sizes = self.words.take("contexts", numbers).astype(np.int64)
        if limit is not None:
            sizes = np.minimum(sizes, limit)
        places = ragged(self.words.take("context_start", numbers), sizes)
        sentence = self.context_rows.take("sentence", places).astype(np.int64)
        position = self.context_rows.take("position", places).astype(np.int64)
        return np.repeat(np.arange(len(numbers)), sizes), sentence, position


def block_packer(dictionary: bytes) -> Callable[[list[bytes]], bytes]:
    """A function that compresses some sentences together."""
    shared = _dictionary(dictionary)
    if shared is not None:
        shared.precompute_compress(level=3)
    compressor = zstandard.ZstdCompressor(level=3, dict_data=shared)
    return lambda sentences: compressor.compress(b"\n".join(sentences))


def _dictionary(content: bytes) -> zstandard.ZstdCompressionDict | None:
    if not content:
        return None
    return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


class _Table:
    """Columns of an Arrow file whose record batches all but the last have the same number of rows."""

    def __init__(self, path: Path) -> None:
        self._reader = pa.ipc.open_file(pa.memory_map(str(path)))
        count = self._reader.num_record_batches
        self._batches: dict[int, Any] = {}
        self._columns: dict[tuple[str, int], Any] = {}
        self._size = len(self._batch(0)) if count else 1
        self.rows = self._size * (count - 1) + len(self._batch(count - 1)) if count else 0
        self._count = count

    def column(self, name: str) -> Array:
        """A whole column of numbers. *Shape:* (rows,)"""
        parts = [self._numbers(name, batch) for batch in range(self._count)]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def strings(self, name: str) -> list[str]:
        """A whole column of strings."""
        texts: list[str] = self.table(name)[name].to_pylist()
        return texts

    def table(self, *names: str) -> Any:
        """Some columns as an Arrow table, without copying them."""
        schema = pa.schema([self._reader.schema.field(name) for name in names])
        batches = [self._batch(batch).select(list(names)) for batch in range(self._count)]
        return pa.Table.from_batches([pa.record_batch(b.columns, schema=schema) for b in batches], schema)

    def take(self, name: str, rows: Array) -> Array:
        """Some numbers of a column. *Shape:* (rows,)"""
        batches = rows // self._size
        numbers = np.unique(batches).tolist()
        if len(numbers) == 1:
            only: Array = self._numbers(name, numbers[0])[rows - numbers[0] * self._size]
            return only
        result = np.zeros(len(rows), dtype=self._reader.schema.field(name).type.to_pandas_dtype())
        for batch in numbers:
            own = batches == batch
            result[own] = self._numbers(name, batch)[rows[own] - batch * self._size]
        return result

    def binary(self, name: str, row: int) -> bytes:
        """One value of a column of bytes."""
        value: bytes = self._column(name, row // self._size)[row % self._size].as_py()
        return value

    def metadata(self, key: bytes) -> bytes:
        """What the file's schema carries under a key."""
        value: bytes = self._reader.schema.metadata[key]
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
        numbers: Array = self._column(name, batch).to_numpy()
        return numbers

    def _column(self, name: str, batch: int) -> Any:
        if (name, batch) not in self._columns:
            self._columns[name, batch] = self._batch(batch)[name]
        return self._columns[name, batch]

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

"""Words and their vectors, stored as safetensors that open instantly whatever their size."""

import hashlib
import json
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from safetensors import SafetensorError, safe_open

from rarewords.errors import InputError
from rarewords.files import open_text, require_file, whole_file, write_lines

_FORMAT = "rarewords.vectors/1"
_DTYPES = {"F32": "<f4", "I64": "<i8", "U8": "u1"}


class WordVectors:
    """A float32 vector for each of a list of words, with the settings that made them.

    :param words: distinct, none empty.
    :param matrix: one finite row per word. *Shape:* (words, dim)
    :param settings: anything JSON can hold: model, method, seed …

    >>> vectors = WordVectors(["kumquat", "salsify"], np.eye(2, dtype=np.float32))
    >>> "kumquat" in vectors, vectors["salsify"].tolist()
    (True, [0.0, 1.0])
    """

    _packed: tuple[np.ndarray, np.ndarray]  # of a file: the bytes of its words, and where each word ends

    def __init__(
        self, words: Iterable[str], matrix: np.ndarray, settings: Mapping[str, Any] | None = None
    ) -> None:
        self.words = words = list(words)
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        self.settings: dict[str, Any] = dict(settings or {})
        if self.matrix.ndim != 2 or len(words) != len(self.matrix):
            raise InputError(
                f"{len(words)} words need a matrix of {len(words)} rows, not shape {self.matrix.shape}"
            )
        if len(set(words)) != len(words):
            ((twice, _),) = Counter(words).most_common(1)
            raise InputError(f"the word {twice!r} is given twice; keep one of its vectors")
        empty = next((row for row, word in enumerate(words) if not word.strip()), None)
        if empty is not None:
            raise InputError(f"the word of vector {empty + 1} is empty; remove it")
        bad = np.flatnonzero(~np.isfinite(self.matrix).all(axis=1))
        if len(bad):
            raise InputError(
                f"the vector of {words[bad[0]]!r} holds NaN or infinite numbers ({len(bad)} such words)"
            )

    @cached_property
    def words(self) -> Sequence[str]:
        """The words in the order of the rows."""
        text, ends = self._packed
        raw = text.tobytes()
        try:
            return [raw[start:end].decode("utf-8") for start, end in pairwise([0, *ends.tolist()])]
        except UnicodeDecodeError:
            raise InputError("the file of word vectors is damaged: a word is not UTF-8") from None

    @property
    def dim(self) -> int:
        """The size of a vector."""
        return int(self.matrix.shape[1])

    @cached_property
    def key(self) -> str:
        """Sixteen hexadecimal digits that stand for the words and their vectors."""
        digest = hashlib.sha256("\n".join(self.words).encode())
        digest.update(np.ascontiguousarray(self.matrix).tobytes())
        return digest.hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.matrix)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, word: str) -> np.ndarray:
        """The vector of a word. *Shape:* (dim,)"""
        try:
            return cast(np.ndarray, self.matrix[self._rows[word]])
        except KeyError:
            raise KeyError(f"there is no vector for {word!r}") from None

    def get(self, word: str) -> np.ndarray | None:
        """The vector of a word, or None. *Shape:* (dim,)"""
        row = self._rows.get(word)
        return None if row is None else cast(np.ndarray, self.matrix[row])

    def subset(self, words: Iterable[str]) -> "WordVectors":
        """These words only, in this order; a word without a vector is an error."""
        chosen = list(words)
        missing = [word for word in chosen if word not in self]
        if missing:
            raise InputError(
                f"there is no vector for {missing[0]!r} ({len(missing)} of {len(chosen)} are missing)"
            )
        return WordVectors(chosen, self.matrix[[self._rows[word] for word in chosen]], self.settings)

    def merge(self, other: "WordVectors") -> "WordVectors":
        """The union of both; ``other`` wins for a word that both have."""
        if self.dim != other.dim:
            raise InputError(f"vectors of size {self.dim} and {other.dim} cannot be merged")
        kept = [word for word in self.words if word not in other]
        rows = self.matrix[[self._rows[word] for word in kept]]
        settings = {"merged": [self.settings, other.settings]}
        return WordVectors([*kept, *other.words], np.concatenate([rows, other.matrix]), settings)

    def nearest(self, query: str | np.ndarray, k: int = 10) -> list[tuple[str, float]]:
        """The ``k`` words of highest cosine similarity, excluding the query word itself."""
        vector = np.asarray(self[query] if isinstance(query, str) else query, dtype=np.float32)
        if vector.shape != (self.dim,):
            raise InputError(f"the query has shape {vector.shape}, the vectors have size {self.dim}")
        lengths = self._lengths * max(float(np.linalg.norm(vector)), 1e-12)
        similarity = self.matrix @ vector / np.maximum(lengths, 1e-12)
        if isinstance(query, str):
            similarity[self._rows[query]] = -np.inf
        k = min(k, len(self) - isinstance(query, str))
        best = np.argpartition(-similarity, k - 1)[:k] if k > 0 else np.array([], dtype=np.int64)
        best = best[np.lexsort((best, -similarity[best]))]
        return [(self.words[row], float(similarity[row])) for row in best]

    def save(self, path: str | Path) -> None:
        """Write a safetensors file, whole or not at all; the same bytes for the same content."""
        encoded = [word.encode("utf-8") for word in self.words]
        tensors = {
            "vectors": np.ascontiguousarray(self.matrix, dtype=_DTYPES["F32"]),
            "word_ends": np.cumsum([len(word) for word in encoded], dtype=_DTYPES["I64"]),
            "words_utf8": np.frombuffer(b"".join(encoded), dtype=_DTYPES["U8"]),
        }
        metadata = {"format": _FORMAT, "settings": json.dumps(self.settings, sort_keys=True)}
        header: dict[str, Any] = {"__metadata__": metadata}
        place = 0
        for dtype, (name, tensor) in zip(_DTYPES, tensors.items(), strict=True):
            offsets = [place, place + tensor.nbytes]
            header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": offsets}
            place += tensor.nbytes
        # Written by hand, not by the safetensors library: it orders metadata at random, so the same content
        # would give other bytes, and it hides a full disk in an error of its own.
        head = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
        head += b" " * ((56 - len(head)) % 64)  # so that the numbers start at a multiple of 64 bytes
        with whole_file(path) as temporary, temporary.open("wb") as stream:
            stream.write(struct.pack("<Q", len(head)) + head)
            for tensor in tensors.values():
                stream.write(tensor.data if tensor.size else b"")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Open a file written by :meth:`save`. Numbers are read when they are first used."""
        path = Path(path)
        header, start = _read_header(path)
        metadata = header.get("__metadata__", {})
        if metadata.get("format") != _FORMAT:
            raise InputError(f"{path} is a safetensors file, but not one of word vectors")
        vectors = cls.__new__(cls)
        try:
            vectors.matrix = _mapped(path, header["vectors"], start, "F32", 2)
            text = _mapped(path, header["words_utf8"], start, "U8", 1)
            ends = _mapped(path, header["word_ends"], start, "I64", 1)
            vectors.settings = dict(json.loads(metadata["settings"]))
        except (KeyError, ValueError, TypeError, RecursionError):
            raise InputError(f"{path} is damaged: it lacks parts of a file of word vectors") from None
        steps = np.diff(ends, prepend=0)
        if len(ends) != len(vectors.matrix) or (steps <= 0).any() or int(steps.sum()) != len(text):
            raise InputError(f"{path} is damaged: its words and vectors do not match; make it again")
        vectors._packed = (text, ends)
        return vectors

    def save_word2vec(self, path: str | Path) -> None:
        """Write the word2vec text format: a line ``count dim``, then one line per word with its numbers."""
        spaced = next((word for word in self.words if any(letter.isspace() for letter in word)), None)
        if spaced is not None:
            raise InputError(f"the word2vec text format cannot hold {spaced!r}, a word with a space in it")
        rows = zip(self.words, self.matrix, strict=True)
        lines = (f"{word} {' '.join(format(one, '.9g') for one in row.tolist())}\n" for word, row in rows)
        write_lines(path, chain([f"{len(self)} {self.dim}\n"], lines))

    @classmethod
    def load_word2vec(cls, path: str | Path) -> Self:
        """Read the word2vec text format, with or without its first line, plain or ``.gz``."""
        words, rows = [], []
        with open_text(path) as lines:
            for number, line in enumerate(lines, 1):
                word, *values = line.rstrip(" \n").split(" ")
                if not line.strip() or (number == 1 and len(values) == 1 and (word + values[0]).isdigit()):
                    continue
                words.append(word)
                try:
                    rows.append(np.array(values, dtype=np.float32))
                except ValueError:
                    raise InputError(f"{path}, line {number}: {word!r} is not followed by numbers") from None
                if len(values) != len(rows[0]) or not values:
                    expected = f"{len(values)} numbers where {len(rows[0])} were expected"
                    raise InputError(f"{path}, line {number}: {expected}")
        if not rows:
            raise InputError(f"{path} holds no vectors")
        return cls(words, np.stack(rows), {"source": Path(path).name})

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def _lengths(self) -> np.ndarray:
        return cast(np.ndarray, np.sqrt(np.einsum("ij,ij->i", self.matrix, self.matrix)))


def open_vectors(path: str | Path) -> WordVectors:
    """Open vectors of either format: .txt, .vec, .w2v and .gz are word2vec text, the rest safetensors."""
    text = Path(path).name.endswith((".txt", ".vec", ".w2v", ".gz"))
    return WordVectors.load_word2vec(path) if text else WordVectors.load(path)


def read_words(path: str | Path) -> list[str]:
    """The words of a file, one per line; text after a tab, empty lines and ``#`` lines are ignored."""
    with open_text(path) as lines:
        words = [line.split("\t")[0].strip() for line in lines]
    words = [word for word in words if word and not word.startswith("#")]
    if not words:
        raise InputError(f"{path} holds no words; give one per line")
    return words


def _read_header(path: Path) -> tuple[dict[str, Any], int]:
    """The checked header of a safetensors file, and where its numbers start."""
    require_file(path)
    try:
        with safe_open(path, "np"):
            pass  # the library checks dtypes, shapes and offsets against the file
        with path.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            return json.loads(stream.read(length)), 8 + length
    except (SafetensorError, OSError, ValueError, RecursionError, struct.error) as error:
        raise InputError(
            f"{path} is not a whole file of word vectors (safetensors); is it a word2vec text file, or "
            f"damaged? ({error})"
        ) from None


def _mapped(path: Path, entry: dict[str, Any], start: int, dtype: str, dimensions: int) -> np.ndarray:
    if entry["dtype"] != dtype or len(entry["shape"]) != dimensions:
        raise ValueError(dtype)
    if not np.prod(entry["shape"]):
        return np.zeros(entry["shape"], dtype=_DTYPES[dtype])
    offset = start + entry["data_offsets"][0]
    return np.memmap(path, dtype=_DTYPES[dtype], mode="r", offset=offset, shape=tuple(entry["shape"]))

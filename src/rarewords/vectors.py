"""Words and their vectors, stored as safetensors whose numbers are mapped into memory, not read."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from safetensors import safe_open

from rarewords.errors import InputError
from rarewords.files import open_text, require_file, understood, whole_file, write_lines

_FORMAT = "rarewords.vectors/1"


class WordVectors:
    """A float32 vector for each of a list of words, with the settings that made them.

    :param words: distinct, none empty.
    :param matrix: one finite row per word. *Shape:* (words, dim)
    :param settings: anything JSON can hold: model, method, seed …

    >>> vectors = WordVectors(["kumquat", "salsify"], np.eye(2, dtype=np.float32))
    >>> "kumquat" in vectors, vectors["salsify"].tolist()
    (True, [0.0, 1.0])
    """

    def __init__(
        self, words: Iterable[str], matrix: np.ndarray, settings: Mapping[str, Any] | None = None
    ) -> None:
        self.words = words = list(words)
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        self.settings: dict[str, Any] = dict(settings or {})
        if self.matrix.ndim != 2 or len(words) != len(self.matrix):
            raise InputError(f"{len(words)} words need as many rows, not a matrix {self.matrix.shape}")
        if len(set(words)) != len(words):
            ((twice, _),) = Counter(words).most_common(1)
            raise InputError(f"the word {twice!r} is given twice; keep one of its vectors")
        empty = next((row for row, word in enumerate(words) if not word.strip()), None)
        if empty is not None:
            raise InputError(f"the word of vector {empty + 1} is empty; remove it")
        bad = np.flatnonzero(~np.isfinite(self.matrix).all(axis=1))
        if len(bad):
            raise InputError(f"{words[bad[0]]!r} holds NaN or infinite numbers ({len(bad)} such words)")

    @property
    def dim(self) -> int:
        """The size of a vector."""
        return int(self.matrix.shape[1])

    def require_dim(self, dim: int) -> None:
        """Refuse vectors that do not have the size of a model's embeddings."""
        if self.dim != dim:
            reason = f"the vectors have size {self.dim}, but the model takes size {dim}"
            raise InputError(f"{reason}; they were made for another model")

    @cached_property
    def key(self) -> str:
        """Sixteen hexadecimal digits that stand for the words and their vectors."""
        digest = hashlib.sha256("\n".join(self.words).encode())
        digest.update(self.matrix.tobytes())
        return digest.hexdigest()[:16]

    def __len__(self) -> int:
        return len(self.matrix)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __getitem__(self, word: str) -> np.ndarray:
        """The vector of a word. *Shape:* (dim,)"""
        return cast(np.ndarray, self.matrix[self._rows[word]])

    def get(self, word: str) -> np.ndarray | None:
        """The vector of a word, or None. *Shape:* (dim,)"""
        return cast(np.ndarray, self.matrix[self._rows[word]]) if word in self else None

    def subset(self, words: Iterable[str]) -> "WordVectors":
        """These words only, in this order; a word without a vector is an error."""
        chosen = list(words)
        missing = [word for word in chosen if word not in self]
        if missing:
            raise InputError(f"there is no vector for {missing[0]!r} ({len(missing)} words are missing)")
        return WordVectors(chosen, self.matrix[[self._rows[word] for word in chosen]], self.settings)

    def merge(self, other: "WordVectors") -> "WordVectors":
        """The union of both; ``other`` wins for a word that both have."""
        if self.dim != other.dim:
            raise InputError(f"vectors of size {self.dim} and {other.dim} cannot be merged")
        kept = [word for word in self.words if word not in other]
        rows = self.matrix[[self._rows[word] for word in kept]]
        settings = {"merged": [self.settings, other.settings]}
        return WordVectors([*kept, *other.words], np.concatenate([rows, other.matrix]), settings)

    def save(self, path: str | Path) -> None:
        """Write a safetensors file, whole or not at all; the same bytes for the same content."""
        encoded = [word.encode() for word in self.words]
        tensors: dict[str, tuple[str, np.ndarray]] = {
            "vectors": ("F32", self.matrix),
            "word_ends": ("I64", np.cumsum([len(word) for word in encoded], dtype=np.int64)),
            "words_utf8": ("U8", np.frombuffer(b"".join(encoded), dtype=np.uint8)),
        }
        metadata = {"format": _FORMAT, "settings": json.dumps(self.settings, sort_keys=True)}
        header: dict[str, Any] = {"__metadata__": metadata}
        place = 0
        for name, (dtype, tensor) in tensors.items():
            offsets = [place, place + tensor.nbytes]
            header[name] = {"dtype": dtype, "shape": tensor.shape, "data_offsets": offsets}
            place += tensor.nbytes
        # Written by hand, not by the safetensors library: it orders metadata at random, so the same content
        # would give other bytes, and it hides a full disk in an error of its own.
        head = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
        head += b" " * ((56 - len(head)) % 64)  # so that the numbers start at a multiple of 64 bytes
        with whole_file(path) as temporary, temporary.open("wb") as stream:
            stream.write(len(head).to_bytes(8, "little") + head)
            for _, tensor in tensors.values():
                stream.write(tensor.data)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Open a file written by :meth:`save`. Numbers are read when they are first used."""
        require_file(path)
        remedy = "if it is word2vec text, name it .txt, otherwise make it again"
        vectors = cls.__new__(cls)  # the checks of a new one would read all numbers
        with understood(path, remedy), safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != _FORMAT:
                raise InputError(f"{path} is a safetensors file, but not one of word vectors")
            names = ("vectors", "word_ends", "words_utf8")
            vectors.matrix, ends, text = (file.get_tensor(name).numpy() for name in names)
            vectors.settings = dict(json.loads(metadata["settings"]))
            raw, steps = text.tobytes(), np.diff(ends, prepend=0)
            right = len(ends) == len(vectors.matrix) and (steps > 0).all() and steps.sum() == len(raw)
            if not right or vectors.matrix.dtype != np.float32:
                raise InputError("its words and vectors do not match")
            vectors.words = [raw[start:end].decode() for start, end in pairwise([0, *ends.tolist()])]
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

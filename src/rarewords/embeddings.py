"""Words and their embeddings, stored as safetensors whose numbers are mapped into memory, not read."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from safetensors import safe_open

from rarewords._internal.files import open_text, reading, require_file, whole_file
from rarewords._internal.schema import parse
from rarewords.errors import InputError

_FORMAT = "rarewords.embeddings/1"


class WordEmbeddings:
    """A float32 embedding for each of a list of words, with the settings that made them.

    :param words: distinct, none empty.
    :param matrix: one finite row per word. *Shape:* (words, dim)
    :param settings: anything JSON can hold: model, method, seed …

    >>> embeddings = WordEmbeddings(["kumquat", "salsify"], np.eye(2, dtype=np.float32))
    >>> "kumquat" in embeddings, embeddings["salsify"].tolist()
    (True, [0.0, 1.0])
    """

    def __init__(self, words: Iterable[str], matrix: np.ndarray, settings: Mapping[str, Any] | None = None) -> None:
        self.words = words = list(words)
        self.matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        self.settings: dict[str, Any] = dict(settings or {})
        shape, problem = self.matrix.shape, ""
        if len(shape) != 2 or len(words) != shape[0]:
            problem = f"{len(words)} words need as many rows, not a matrix {shape}"
        elif len(set(words)) != len(words):
            ((twice, _),) = Counter(words).most_common(1)
            problem = f"the word {twice!r} is given twice; keep one of its embeddings"
        elif not all(map(str.strip, words)):
            empty = next(row for row, word in enumerate(words, 1) if not word.strip())
            problem = f"the word of embedding {empty} is empty; remove it"
        elif len(bad := np.flatnonzero(~np.isfinite(self.matrix).all(axis=1))):
            problem = f"{words[bad[0]]!r} holds NaN or infinite numbers ({len(bad)} such words)"
        if problem:
            raise InputError(problem, code="embeddings")

    @property
    def dim(self) -> int:
        """The size of an embedding."""
        return int(self.matrix.shape[1])

    def require_dim(self, dim: int) -> None:
        """Refuse embeddings that do not have the size of a model's embeddings."""
        if self.dim != dim:
            reason = f"the embeddings have size {self.dim}, but the model takes size {dim}"
            raise InputError(f"{reason}; they were made for another model", code="model-mismatch")

    @cached_property
    def key(self) -> str:
        """Sixteen hexadecimal digits that stand for the words and their embeddings."""
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
        """The embedding of a word. *Shape:* (dim,)"""
        return cast(np.ndarray, self.matrix[self._rows[word]])

    def get(self, word: str) -> np.ndarray | None:
        """The embedding of a word, or None. *Shape:* (dim,)"""
        return cast(np.ndarray, self.matrix[self._rows[word]]) if word in self else None

    def subset(self, words: Iterable[str]) -> "WordEmbeddings":
        """These words only, in this order; a word without an embedding is an error."""
        chosen = list(words)
        if missing := [word for word in chosen if word not in self]:
            problem = f"there is no embedding for {missing[0]!r} ({len(missing)} words are missing)"
            raise InputError(problem, code="embeddings")
        return WordEmbeddings(chosen, self.matrix[[self._rows[word] for word in chosen]], self.settings)

    def merge(self, other: "WordEmbeddings") -> "WordEmbeddings":
        """The union of both; ``other`` wins for a word that both have."""
        if self.dim != other.dim:
            raise InputError(f"embeddings of size {self.dim} and {other.dim} cannot be merged", code="embeddings")
        kept = self.subset(word for word in self.words if word not in other)
        matrix = np.concatenate([kept.matrix, other.matrix])
        return WordEmbeddings([*kept.words, *other.words], matrix, {"merged": [self.settings, other.settings]})

    def save(self, path: str | Path) -> None:
        """Write a safetensors file, whole or not at all; the same bytes for the same content."""
        encoded = [word.encode() for word in self.words]
        tensors: dict[str, tuple[str, np.ndarray]] = {
            "embeddings": ("F32", self.matrix),
            "word_ends": ("I64", np.cumsum([len(word) for word in encoded], dtype=np.int64)),
            "words_utf8": ("U8", np.frombuffer(b"".join(encoded), dtype=np.uint8)),
        }
        metadata = {"format": _FORMAT, "settings": json.dumps(self.settings, sort_keys=True)}
        header: dict[str, Any] = {"__metadata__": metadata}
        end = 0
        for name, (dtype, tensor) in tensors.items():
            start, end = end, end + tensor.nbytes
            header[name] = {"dtype": dtype, "shape": tensor.shape, "data_offsets": [start, end]}
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
        remedy = "give a file that rarewords has written"
        embeddings = cls.__new__(cls)  # the checks of a new one would read all numbers
        with reading(path, remedy), safe_open(path, "pt") as file:
            metadata, names = file.metadata() or {}, ("embeddings", "word_ends", "words_utf8")
            if metadata.get("format") != _FORMAT or set(names) - set(file.keys()):
                raise InputError(f"{path} is a safetensors file, but not one of word embeddings", code="embeddings")
            embeddings.matrix, ends, text = (file.get_tensor(name).numpy() for name in names)
            kinds = [(one.ndim, str(one.dtype)) for one in (embeddings.matrix, ends, text)]
            right = kinds == [(2, "float32"), (1, "int64"), (1, "uint8")]
            steps = np.diff(ends, prepend=0) if right else ends
            if not right or len(ends) != len(embeddings) or (steps <= 0).any() or steps.sum() != len(text):
                problem = f"{path} is damaged: its words and embeddings do not match; {remedy}"
                raise InputError(problem, code="damaged")
            raw = text.tobytes()
            embeddings.words = [raw[start:end].decode() for start, end in pairwise([0, *ends.tolist()])]
        found = None
        with suppress(ValueError, RecursionError):
            found = json.loads(metadata.get("settings", ""))
        embeddings.settings = parse(dict[str, Any], found, path, remedy)
        return embeddings

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}


def read_words(path: str | Path) -> list[str]:
    """The words of a file, one per line; text after a tab, empty lines and ``#`` lines are ignored."""
    with open_text(path) as lines:
        words = [line.split("\t")[0].strip() for line in lines]
    words = [word for word in words if word and not word.startswith("#")]
    if not words:
        raise InputError(f"{path} holds no words; give one per line", code="no-text")
    return words

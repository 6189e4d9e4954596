"""Predictions kept by content, so that a second metric or a run with other vectors is free.

One SQLite file in the cache folder. The key of a row says what was asked of which model, the row is the ids
of the answers. It is bounded in size (what was not used longest goes first) and is only ever a shortcut: a
cache that cannot be read or written is left alone.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from rarewords.bundled import cache_folder
from rarewords.lm import LanguageModel, Query

DEFAULT_BYTES = 1_000_000_000
_AT_ONCE = 500
_KEPT_SHARE = 0.7


class PredictionCache:
    """Answer ids by the content of what was asked.

    :param path: the file; by default in the cache folder of the user.
    :param most_bytes: beyond that size the rows that were not used longest are dropped.
    """

    def __init__(self, path: Path | None = None, *, most_bytes: int = DEFAULT_BYTES) -> None:
        self.path = path or cache_folder() / "predictions.sqlite"
        self.most_bytes = most_bytes

    def get(self, keys: Sequence[bytes], depth: int) -> dict[bytes, np.ndarray]:
        """The rows there are, as int32 ids. *Shape of each:* (depth,)"""
        found: dict[bytes, np.ndarray] = {}
        try:
            with _connected(self.path) as database:
                for start in range(0, len(keys), _AT_ONCE):
                    part = keys[start : start + _AT_ONCE]
                    marks = ",".join("?" * len(part))
                    asked = f"SELECT key, ids FROM predictions WHERE key IN ({marks})"
                    for key, ids in database.execute(asked, part):
                        row = np.frombuffer(ids, dtype="<u4")
                        if len(row) == depth:  # a damaged row is as good as none
                            found[key] = row.astype(np.int32)
                stamp = int(time.time())
                used = ((stamp, key) for key in found)
                database.executemany("UPDATE predictions SET used = ? WHERE key = ?", used)
        except (sqlite3.Error, OSError):
            return found
        return found

    def put(self, rows: Iterable[tuple[bytes, np.ndarray]]) -> None:
        """Keep rows of answer ids."""
        stamp = int(time.time())
        values = [(key, ids.astype("<u4").tobytes(), stamp) for key, ids in rows]
        try:
            with _connected(self.path) as database:
                database.executemany("INSERT OR REPLACE INTO predictions VALUES (?, ?, ?)", values)
            self._shrink()
        except (sqlite3.Error, OSError):
            return

    def _shrink(self) -> None:
        if self.path.stat().st_size <= self.most_bytes:
            return
        with _connected(self.path) as database:
            (rows,) = database.execute("SELECT count(*) FROM predictions").fetchone()
            share = _KEPT_SHARE * self.most_bytes / self.path.stat().st_size
            dropped = rows - int(rows * share)
            database.execute(
                "DELETE FROM predictions WHERE key IN (SELECT key FROM predictions ORDER BY used LIMIT ?)",
                (dropped,),
            )
            database.commit()
            database.execute("VACUUM")


def query_keys(lm: LanguageModel, asked: Sequence[tuple[Query, tuple[int, ...]]], depth: int) -> list[bytes]:
    """What each query asks, of which model and how deep, in 16 bytes.

    The targets belong to it, for it is their ranks that are exact. The device and the batches are left out:
    they make no difference to those.
    """
    vocabulary = hashlib.sha256(repr(sorted(lm.tokenizer.get_vocab().items())).encode()).hexdigest()
    model = "\t".join((lm.fingerprint, vocabulary, str(lm.dtype), str(depth))).encode()
    keys = []
    for query, targets in asked:
        digest = hashlib.blake2b(model, digest_size=16)
        digest.update(f"\n{query.pattern}\n{query.word}\n{targets}\n".encode())
        if query.vector is not None:
            digest.update(b"slash" if query.slash else b"alone")
            digest.update(np.ascontiguousarray(query.vector, dtype="<f4").tobytes())
        keys.append(digest.digest())
    return keys


class _connected:  # noqa: N801 - used as a with block, like the functions of contextlib
    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(self._path, timeout=60)
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self._database.close()
            if isinstance(error, sqlite3.OperationalError):  # locked, read-only or full: not for us to mend
                raise
            self._path.unlink()  # not a database: begin anew
            self._database = sqlite3.connect(self._path, timeout=60)
            self._prepare()
        return self._database

    def _prepare(self) -> None:
        self._database.execute("PRAGMA synchronous = OFF")  # what a power cut takes can be made again
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS predictions "
            "(key BLOB PRIMARY KEY, ids BLOB, used INTEGER) WITHOUT ROWID"
        )

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._database.commit()
        self._database.close()

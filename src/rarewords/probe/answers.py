"""Every answer to every query, beside a result: one JSON object a line, compressed."""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from rarewords.errors import InputError
from rarewords.files import whole_file
from rarewords.lm import Query
from rarewords.probe.dataset import Entry
from rarewords.tokens import Tokens


@dataclass(frozen=True)
class AnsweredQuery:
    """One pattern of an entry and what the model said."""

    id: str
    word: str
    relation: str
    pattern: str
    vector: bool
    targets: list[str]
    answers: list[str]

    @property
    def rank(self) -> int:
        """The place of the first target among the answers, 0 where there is none."""
        found = set(self.targets)
        return next((place for place, answer in enumerate(self.answers, 1) if answer in found), 0)


def answers_path(result: str | Path) -> Path:
    """Where the answers of a result are kept: ``a.json -> a.answers.jsonl.gz``."""
    path = Path(result)
    name = path.name.removesuffix(".gz").removesuffix(".json")
    return path.with_name(f"{name}.answers.jsonl.gz")


def write_answers(
    path: str | Path,
    asked: Iterable[tuple[Entry, Query]],
    ids: np.ndarray,
    tokens: Tokens,
) -> None:
    """Write the answers to queries, each given with the entry it belongs to."""
    distinct = np.unique(ids).tolist()
    texts = dict(zip(distinct, tokens.text_of(distinct), strict=True))
    with (
        whole_file(path) as temporary,
        temporary.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as stream,
    ):
        for (entry, query), row in zip(asked, ids.tolist(), strict=True):
            answered = AnsweredQuery(
                entry.id,
                entry.word.text,
                entry.relation,
                query.pattern,
                query.vector is not None,
                [target.text for target in entry.targets],
                [texts[answer] for answer in row],
            )
            stream.write(json.dumps(asdict(answered), ensure_ascii=False).encode() + b"\n")


def read_answers(result: str | Path, words: Collection[str]) -> list[AnsweredQuery]:
    """The answers kept beside a result for some words."""
    path = answers_path(result)
    if not path.is_file():
        raise InputError(
            f"{path} does not exist: evaluate again with --answers "
            "(the predictions are cached, so it is quick)"
        )
    try:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = (json.loads(line) for line in lines)
            return [AnsweredQuery(**row) for row in rows if row["word"] in words]
    except (ValueError, TypeError, KeyError, EOFError, OSError) as error:
        raise InputError(f"{path} is damaged ({error}); evaluate again with --answers") from None

"""Which documents hold a word that a model was taught, and must be embedded again?

Any other document gets the same tokens from the taught model, and its embedding stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from rarewords.corpus.read import read_documents
from rarewords.corpus.sources import find_sources
from rarewords.errors import InputError
from rarewords.files import read_json
from rarewords.models import load_tokens
from rarewords.rules import token_name

_TEXTS_AT_ONCE = 1024


@dataclass(frozen=True)
class Affected:
    """A text by its number, counted from 0, and the taught words it holds."""

    row: int
    words: tuple[str, ...]


@dataclass(frozen=True)
class AffectedDocument:
    """A document of a file: its number, counted from 1, its id if asked for, and its taught words."""

    file: str
    number: int
    id: str | None
    words: tuple[str, ...]


def affected(model: str | Path, texts: Iterable[str]) -> Iterator[Affected]:
    """The texts that hold a taught word, exactly as the model's tokenizer finds it.

    :param model: a folder made by ``teach``.
    """
    taught = _taught_words(Path(model))
    tokenizer = load_tokens(model).tokenizer
    added = tokenizer.added_tokens_decoder.items()
    words = {token: taught[one.content] for token, one in added if one.content in taught}
    numbered = iter(enumerate(texts))
    while batch := list(islice(numbered, _TEXTS_AT_ONCE)):
        encoded = tokenizer([text for _, text in batch], add_special_tokens=False, verbose=False)
        for (row, _), ids in zip(batch, encoded["input_ids"], strict=True):
            found = tuple(dict.fromkeys(words[token] for token in ids if token in words))
            if found:
                yield Affected(row, found)


def affected_documents(
    model: str | Path, texts: Sequence[str | Path], *, field: str = "text", id_field: str | None = None
) -> Iterator[AffectedDocument]:
    """The documents of files that hold a taught word; in plain text every line is a document.

    :param field: the field that holds the text in jsonl, csv, tsv and parquet.
    :param id_field: the field that holds each document's id in them.
    """
    for source in find_sources(texts, field):
        documents = list(read_documents(source))
        names: list[str | None] = [None] * len(documents)
        if id_field is not None and source.format != "text":
            names = list(read_documents(replace(source, field=id_field)))
            if len(names) != len(documents):
                raise InputError(
                    f"{source.path} has {len(documents)} texts but {len(names)} ids; give every record both"
                )
        for one in affected(model, documents):
            yield AffectedDocument(source.path, one.row + 1, names[one.row], one.words)


def _taught_words(model: Path) -> dict[str, str]:
    """The contents of the tokens of taught words, with the words."""
    report = model / "teaching.json"
    if not report.is_file():
        raise InputError(f"{model} has no teaching.json; give a folder made by rarewords teach")
    words = [str(one["word"]) for one in read_json(report)["words"]]
    return {name: word for word in words for name in (word, token_name(word))}

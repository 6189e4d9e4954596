"""The words that a folder was taught, the folder without some of them, and the documents that hold them.

A document without any of these words gets the same tokens as before, so that its embedding stays as it is.
"""

import json
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, repeat
from pathlib import Path
from typing import Any, TypeVar

import torch
from tokenizers import Tokenizer

from rarewords.card import model_card
from rarewords.corpus.read import read_documents
from rarewords.corpus.sources import find_sources
from rarewords.errors import InputError
from rarewords.files import read_json
from rarewords.injection import inject, save_folder, unshare_bias
from rarewords.models import load_pretrained, load_tokens, model_kind
from rarewords.rules import own_normalizer, token_name, words_with_rules
from rarewords.tokens import with_capital
from rarewords.vectors import WordVectors

K = TypeVar("K")
REPORT = "teaching.json"
_TEXTS_AT_ONCE = 1024


def taught_tokens(model: Any, tokenizer: Any) -> dict[str, int]:
    """The words that a model was taught, with their tokens, in the order they were taught."""
    first = getattr(model.config, "rarewords_first_token", None)
    if first is None:
        return {}
    beside = {token: word for word, token in words_with_rules(tokenizer).items()}
    added = sorted((token, name) for name, token in tokenizer.get_added_vocab().items() if token >= first)
    return {beside.get(token, name): token for token, name in added}


def read_report(folder: str | Path) -> dict[str, Any]:
    """What ``teach`` wrote into a folder; empty if it was not made by ``teach``."""
    path = Path(folder) / REPORT
    return dict(read_json(path)) if path.is_file() else {}


@dataclass(frozen=True)
class TaughtWord:
    """A word of a taught folder; of a word that was injected only the word itself is known."""

    word: str
    count: int
    verdict: str
    learner: str


def taught_words(folder: str | Path) -> list[TaughtWord]:
    """The words that a folder was taught, in the order they were taught."""
    tokens = taught_tokens(*load_pretrained(folder, model_kind(folder)))
    known = _reported(read_report(folder))
    capitals = _capitals(known, tokens)
    own = (word for word in tokens if word not in capitals)
    return [known.get(word, TaughtWord(word, 0, "not judged", "unknown")) for word in own]


def forget_everything(model: Any, tokenizer: Any) -> None:
    """Make a taught model and its tokenizer what they were before any word was taught."""
    first, rows = model.config.rarewords_first_token, model.config.rarewords_rows
    own = own_normalizer(tokenizer)
    stored = json.loads(tokenizer.backend_tokenizer.to_str())
    stored["normalizer"] = None if own is None else json.loads(own.__getstate__())
    stored["added_tokens"] = [one for one in stored["added_tokens"] if one["id"] < first]
    tokenizer._tokenizer = Tokenizer.from_str(json.dumps(stored))
    if rows < len(model.get_input_embeddings().weight):
        model.resize_token_embeddings(rows, mean_resizing=False)
        if model.get_output_embeddings() is not None:
            unshare_bias(model)
    if unsaid := _unsaid(model):
        model.generation_config.suppress_tokens = sorted(token for token in unsaid if token < first) or None
    del model.config.rarewords_first_token, model.config.rarewords_rows


@torch.no_grad()
def forget(folder: str | Path, words: Sequence[str], out: str | Path) -> list[str]:
    """Save a taught folder without some of its words, and give the words that are left.

    These keep their vectors; their tokens move up.
    """
    kind = model_kind(folder)
    model, tokenizer = load_pretrained(folder, kind)
    tokens, beside = taught_tokens(model, tokenizer), words_with_rules(tokenizer)
    for word in words:
        if word not in tokens:
            raise InputError(f"{folder} was not taught {word!r}; `rarewords words {folder}` lists its words")
    report = read_report(folder)
    capitals = _capitals(_reported(report), tokens)
    gone = {*words, *(form for form, word in capitals.items() if word in words)}
    left = {word: token for word, token in tokens.items() if word not in gone}
    kept = [layer[list(left.values())].clone() for layer in _layers(model)]
    vectors = WordVectors(left, kept[0].float().cpu().numpy())
    unsaid = _unsaid(model)
    ways = {word: (word in beside, token not in unsaid) for word, token in left.items()}
    forget_everything(model, tokenizer)
    now: list[int] = []
    for (slash, said), same in groupby(left, key=ways.__getitem__):
        now += inject(model, tokenizer, vectors.subset(same), predictable=said, slash=slash).ids.values()
    for layer, rows in zip(_layers(model), kept, strict=True):
        layer[now] = rows
    for one in (report, *report.get("earlier", ())):
        one["words"] = [word for word in one.get("words", ()) if word["word"] not in gone]
    read = {slash for slash, _ in ways.values()}
    card = model_card(
        report.get("model", Path(folder).resolve().name),
        vectors,
        left,
        predictable=report.get("settings", {}).get("predictable", False),
        slash=None if len(read) > 1 else True in read,
        kind=kind,
        folder=folder,
    )
    more = {REPORT: json.dumps(report, indent=1, ensure_ascii=False) + "\n"} if report else {}
    save_folder(model, tokenizer, out, base=folder, card=card, more=more)
    return list(left)


def _unsaid(model: Any) -> set[int]:
    """The tokens that a causal LM may not write; other models have no such list."""
    return set(model.generation_config.suppress_tokens or ()) if model.can_generate() else set()


def _layers(model: Any) -> list[torch.Tensor]:
    """The parameters that have a row for every token."""
    output = model.get_output_embeddings()
    found = [
        model.get_input_embeddings().weight,
        getattr(output, "weight", None),
        getattr(output, "bias", None),
    ]
    return [layer for layer in found if layer is not None]


def _capitals(known: Container[str], tokens: Iterable[str]) -> dict[str, str]:
    """The tokens that a cased model got along with a word, such as ``Kumquat``, and their words."""
    forms = {with_capital(word): word for word in tokens if word in known}
    return {form: forms[form] for form in tokens if form in forms and form not in known}


def _reported(report: dict[str, Any]) -> dict[str, TaughtWord]:
    return {
        word["word"]: TaughtWord(word["word"], word["count"], word["verdict"], one["learner"])
        for one in (*report.get("earlier", ()), report)
        for word in one.get("words", ())
    }


@dataclass(frozen=True)
class AffectedDocument:
    """A document of a file: its number, counted from 1, its id if asked for, and its taught words."""

    file: str
    number: int
    id: str | None
    words: tuple[str, ...]


def affected(model: str | Path, texts: Iterable[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The texts that hold a taught word, as the model's tokenizer finds it: their numbers, from 0, and words.

    :param model: a folder made by ``teach``.
    """
    return _found(*_taught_vocabulary(model), enumerate(texts))


def _taught_vocabulary(model: str | Path) -> tuple[Any, dict[int, str]]:
    """A taught folder's tokenizer, and the word of each token that it was taught."""
    report = read_report(model)
    if not report:
        raise InputError(f"{model} has no {REPORT}; give a folder made by rarewords teach")
    taught = _reported(report)
    forms = {with_capital(word): word for word in taught} | {word: word for word in taught}
    forms |= {token_name(form): word for form, word in forms.items()}
    tokenizer = load_tokens(model).tokenizer
    return tokenizer, {
        token: forms[name] for name, token in tokenizer.get_added_vocab().items() if name in forms
    }


def _found(
    tokenizer: Any, words: dict[int, str], texts: Iterable[tuple[K, str]]
) -> Iterator[tuple[K, tuple[str, ...]]]:
    """The names of the texts that hold a taught word, and its words."""
    left = iter(texts)
    while batch := list(islice(left, _TEXTS_AT_ONCE)):
        encoded = tokenizer([text for _, text in batch], add_special_tokens=False, verbose=False)
        for (name, _), ids in zip(batch, encoded["input_ids"], strict=True):
            found = tuple(dict.fromkeys(words[token] for token in ids if token in words))
            if found:
                yield name, found


def affected_documents(
    model: str | Path, texts: Sequence[str | Path], *, field: str = "text", id_field: str | None = None
) -> Iterator[AffectedDocument]:
    """The documents of files that hold a taught word; in plain text every line is a document.

    :param field: the field that holds the text in jsonl, csv, tsv and parquet.
    :param id_field: the field that holds each document's id in them.
    """
    vocabulary = _taught_vocabulary(model)
    for source in find_sources(texts, field):
        ids: Iterator[str] = repeat("")
        if id_field is not None and source.format != "text":
            ids = read_documents(replace(source, field=id_field), numbers=True)
        # Side by side: every record has a text and an id, though either may be empty.
        records = enumerate(zip(ids, read_documents(source), strict=False), 1)
        named = (((number, name), text) for number, (name, text) in records)
        for (number, name), words in _found(*vocabulary, named):
            yield AffectedDocument(source.path, number, name or None, words)

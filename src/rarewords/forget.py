"""The words that a folder was taught, the folder without some of them, and the documents that hold them.

A document without any of these words gets the same tokens as before, so that its embedding stays as it is.
"""

import json
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import torch
from tokenizers import Tokenizer

from rarewords.card import model_card
from rarewords.corpus.read import read_documents
from rarewords.corpus.sources import find_sources, spool
from rarewords.errors import InputError
from rarewords.injection import inject, require_output, save_folder, unshare_bias
from rarewords.model_folder import REPORT, read_report
from rarewords.models import load_pretrained, load_tokens, model_kind
from rarewords.rules import own_normalizer, words_with_rules
from rarewords.tokens import with_capital
from rarewords.vectors import WordVectors

K = TypeVar("K")
_TEXTS_AT_ONCE = 1024


def taught_tokens(model: Any, tokenizer: Any) -> dict[str, int]:
    """The words that a model was taught, with their tokens, in the order they were taught."""
    beside = {token: word for word, token in words_with_rules(tokenizer).items()}
    first = _first_taught(model, tokenizer, beside)
    if first is None:
        return {}
    added = sorted((token, name) for name, token in tokenizer.get_added_vocab().items() if token >= first)
    return {beside.get(token, name): token for token, name in added}


def _first_taught(model: Any, tokenizer: Any, beside: Collection[int]) -> int | None:
    """The first taught token, if there is one; config, tokenizer and embeddings must agree about it.

    :param beside: the tokens that stand behind a word's subwords.
    """
    first, rows = (getattr(model.config, f"rarewords_{name}", None) for name in ("first_token", "rows"))
    if first is None and rows is None and not beside:
        return None
    size, added = len(model.get_input_embeddings().weight), tokenizer.added_tokens_decoder
    last = max(added, default=0)

    def looks_taught(token: int) -> bool:
        one = added.get(token)
        return (
            one is not None and not one.special and (token in beside or (one.single_word and one.normalized))
        )

    if (
        not (type(first) is int and type(rows) is int and 0 < first <= last < size and first <= rows <= size)
        or not all(map(looks_taught, range(first, last + 1)))
        or looks_taught(first - 1)
        or any(token < first for token in beside)
    ):
        raise InputError(
            f"config.json says that the taught words start at token {first!r:.40} after {rows!r:.40} rows, "
            "but the tokenizer or the weights say otherwise; teach the original model again"
        )
    return first


@dataclass(frozen=True)
class TaughtWord:
    """A word of a taught folder; of a word that was injected only the word itself is known."""

    word: str
    count: int
    verdict: str
    learner: str


def taught_words(folder: str | Path) -> list[TaughtWord]:
    """The words that a folder was taught, in the order they were taught."""
    known = _reported(read_report(folder))
    words = _words_of(taught_tokens(*load_pretrained(folder, model_kind(folder))), known).values()
    return [known.get(word, TaughtWord(word, 0, "not judged", "unknown")) for word in dict.fromkeys(words)]


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
    require_output(out, folder)
    kind = model_kind(folder)
    model, tokenizer = load_pretrained(folder, kind)
    tokens, beside = taught_tokens(model, tokenizer), words_with_rules(tokenizer)
    for word in words:
        if word not in tokens:
            raise InputError(f"{folder} was not taught {word!r}; `rarewords words {folder}` lists its words")
    report = read_report(folder)
    gone = {form for form, word in _words_of(tokens, _reported(report)).items() if {form, word} & {*words}}
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
    for one in (report, *report.get("earlier", ())) if report else ():
        one["words"] = [word for word in one.get("words", ()) if word["word"] not in gone]
    card = model_card(
        report.get("model", Path(folder).resolve().name),
        vectors,
        left,
        predictable=report.get("settings", {}).get("predictable", False),
        slash={slash for slash, _ in ways.values()},
        kind=kind,
        folder=folder,
    )
    save_folder(model, tokenizer, out, base=folder, card=card, report=report)
    return list(left)


def _unsaid(model: Any) -> set[int]:
    """The tokens that a causal LM may not write; other models have no such list."""
    return set(model.generation_config.suppress_tokens or ()) if model.can_generate() else set()


def _layers(model: Any) -> list[torch.Tensor]:
    """The parameters that have a row for every token."""
    output = model.get_output_embeddings()
    outputs = (getattr(output, name, None) for name in ("weight", "bias"))
    return [model.get_input_embeddings().weight, *(layer for layer in outputs if layer is not None)]


def _words_of(tokens: Iterable[str], known: Container[str]) -> dict[str, str]:
    """The word of each token; a cased model got ``Kumquat`` along with ``kumquat``."""
    capitals = {with_capital(word): word for word in tokens if word in known}
    return {form: form if form in known else capitals.get(form, form) for form in tokens}


def _reported(report: dict[str, Any]) -> dict[str, TaughtWord]:
    return {
        word["word"]: TaughtWord(word["word"], word["count"], word["verdict"], one["learner"])
        for one in (*report.get("earlier", ()), report)
        for word in one.get("words", ())
    }


def affected(model: str | Path, texts: Iterable[tuple[K, str]]) -> Iterator[tuple[K, tuple[str, ...]]]:
    """The texts that hold a taught word, as the model's tokenizer finds it: their keys and their words.

    :param model: a folder made by ``teach``.
    :param texts: each with a key, as ``enumerate(texts)`` or :func:`documents` gives them.
    """
    report = read_report(model)
    if not report:
        raise InputError(f"{model} has no {REPORT}; give a folder made by rarewords teach")
    known, tokenizer = _reported(report), load_tokens(model).tokenizer
    added = tokenizer.get_added_vocab() | words_with_rules(tokenizer)
    words = {added[form]: word for form, word in _words_of(added, known).items() if word in known}
    if missing := known.keys() - set(words.values()):
        raise InputError(
            f"the tokenizer of {model} does not match its {REPORT}: {min(missing)!r} is no token; "
            "restore tokenizer.json and tokenizer_config.json, or teach the model again"
        )
    left = iter(texts)
    while batch := list(islice(left, _TEXTS_AT_ONCE)):
        encoded = tokenizer([text for _, text in batch], add_special_tokens=False, verbose=False)
        for (key, _), ids in zip(batch, encoded["input_ids"], strict=True):
            found = tuple(dict.fromkeys(words[token] for token in ids if token in words))
            if found:
                yield key, found


class Document(NamedTuple):
    """A document of a file: its number, counted from 1, and its id if asked for."""

    file: str
    number: int
    id: str | None


def documents(
    texts: Sequence[str | Path], field: str = "text", id_field: str | None = None
) -> Iterator[tuple[Document, str]]:
    """The documents of files, or of standard input (``-``); in plain text every line is a document.

    :param field: the field that holds the text in jsonl, csv, tsv and parquet.
    :param id_field: the field that holds each document's id in them.
    """
    with TemporaryDirectory() as folder:
        for source in find_sources(spool(texts, Path(folder).absolute()), field):
            file = "-" if Path(source.path).parent == Path(folder) else source.path
            ids: Iterator[str] = repeat("")
            if id_field is not None and source.format != "text":
                ids = read_documents(replace(source, field=id_field), numbers=True)
            # Side by side: every record has a text and an id, though either may be empty.
            for number, (name, text) in enumerate(zip(ids, read_documents(source), strict=False), 1):
                yield Document(file, number, name or None), text

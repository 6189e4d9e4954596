"""The words that a folder was taught, the folder without some of them, and the documents that hold them.

A document without any of these words gets the same tokens as before, so that its embedding stays as it is.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch

from rarewords.corpus.read import read_documents
from rarewords.corpus.sources import find_sources, spool
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.injection.card import model_card
from rarewords.injection.inject import inject, require_output, save_folder
from rarewords.injection.taught import forget_everything, taught_tokens, unsaid_tokens
from rarewords.injection.vocabulary import appended_tokens, normalized, own_normalizer, ruled_words
from rarewords.model_folder import REPORT, read_report
from rarewords.models import load_pretrained, model_kind
from rarewords.tokens import Placement

K = TypeVar("K")
_TEXTS_AT_ONCE = 1024


@dataclass(frozen=True)
class TaughtWord:
    """A word of a taught folder; of a word that was injected only the word itself is known.

    :param forms: other forms of it that have entries of their own.
    """

    word: str
    count: int = 0
    verdict: str = "not checked"
    learner: str = "unknown"
    forms: tuple[str, ...] = ()


class _Taught:
    """A taught folder, opened: its model and tokenizer, its added forms and their tokens, the word of each form."""

    def __init__(self, folder: str | Path) -> None:
        if not Path(folder).is_dir():
            raise InputError(f"{folder} is no folder; give one made by rarewords teach", code="missing-file")
        self.model, self.tokenizer = load_pretrained(folder)  # which checks the folder before anything of it is read
        self.report = read_report(folder)
        self.tokens = taught_tokens(self.model, self.tokenizer)
        self.reported: dict[str, TaughtWord] = {}
        for run in (*self.report.get("earlier", ()), self.report):
            for word in run.get("words", ()):
                forms = tuple(word.get("forms", ()))
                one = TaughtWord(word["word"], word["count"], word["verdict"], run["learner"], forms)
                self.reported[one.word] = one
        own = own_normalizer(self.tokenizer)
        # Of Kumquat and kumquats the word is kumquat.
        words = {normalized(own, form): one.word for one in self.reported.values() for form in (*one.forms, one.word)}
        self.owners = {form: words.get(form, form) for form in self.tokens}


def taught_words(folder: str | Path) -> list[TaughtWord]:
    """The words that a folder was taught, in the order they were taught."""
    taught = _Taught(folder)
    words = dict.fromkeys(taught.owners.values())
    return [taught.reported.get(word, TaughtWord(word)) for word in words]


@torch.no_grad()
def forget(folder: str | Path, words: Sequence[str], out: str | Path) -> list[str]:
    """Save a model folder without some of its added words; returns the words that are left.

    These keep their embeddings; their token ids move up.
    """
    folder = Path(folder)
    require_output(out, folder)
    taught = _Taught(folder)
    model, tokenizer, report, owners = taught.model, taught.tokenizer, taught.report, taught.owners
    known, own = {*owners, *owners.values()}, own_normalizer(tokenizer)
    words = [word if word in known else normalized(own, word) for word in words]  # NX-Lumo is nx-lumo if uncased
    if unknown := [word for word in words if word not in known]:
        problem = f"{folder} has no added word {unknown[0]!r}; `rarewords words {folder}` lists its words"
        raise InputError(problem, code="word")
    left = {form: ids for form, ids in taught.tokens.items() if {form, owners[form]}.isdisjoint(words)}
    rows = [token for ids in left.values() for token in ids]
    kept = [layer[rows].clone() for layer in _layers(model)]
    appended, unsaid, ruled = appended_tokens(tokenizer), unsaid_tokens(model), ruled_words(tokenizer)
    ways: dict[str, tuple[Placement, bool]] = {
        form: ("append" if ids[0] in appended else "replace", ids[0] not in unsaid) for form, ids in left.items()
    }
    forget_everything(model, tokenizer)
    for (placement, said), group in groupby(left, key=ways.__getitem__):
        forms = list(group)
        blank = WordEmbeddings(forms, np.zeros((len(forms), model.get_input_embeddings().weight.shape[1])))
        inject(model, tokenizer, blank, allow_prediction=said, placement=placement, whole=ruled)
    now = [token for ids in taught_tokens(model, tokenizer).values() for token in ids]
    for layer, old in zip(_layers(model), kept, strict=True):
        layer[now] = old
    gone = {*words, *owners.values()} - {owners[form] for form in left}  # words, and single forms of words
    for run in (report, *report.get("earlier", ())) if report else ():
        run["words"] = [
            word | {"forms": [form for form in word.get("forms", ()) if form not in gone]}
            for word in run.get("words", ())
            if word["word"] not in gone
        ]
    words = list(dict.fromkeys(owners[form] for form in left))
    card = model_card(
        report.get("model", folder.resolve().name),
        words,
        allow_prediction=report.get("settings", {}).get("allow_prediction", False),
        kind=model_kind(folder),
        folder=folder,
    )
    save_folder(model, tokenizer, out, base=folder, card=card, report=report)
    return words


def _layers(model: Any) -> list[torch.Tensor]:
    """The parameters that have a row for every token."""
    output = model.get_output_embeddings()
    outputs = (getattr(output, name, None) for name in ("weight", "bias"))
    return [model.get_input_embeddings().weight, *(layer for layer in outputs if layer is not None)]


def affected(model: str | Path, texts: Iterable[tuple[K, str]]) -> Iterator[tuple[K, tuple[str, ...]]]:
    """The texts that mention an added word, as the tokenizer finds it: their keys and their words.

    :param model: a folder made by ``teach``.
    :param texts: each with a key, as ``enumerate(texts)`` or :func:`documents` gives them.
    """
    if Path(model).is_dir() and not read_report(model):
        raise InputError(f"{model} has no {REPORT}; give a folder made by rarewords teach", code="word")
    taught = _Taught(model)
    if missing := taught.reported.keys() - set(taught.owners.values()):
        problem = f"the tokenizer of {model} does not match its {REPORT}: {min(missing)!r} is no token"
        raise InputError(f"{problem}; restore its files, or teach the model again", code="word")
    words = {token: taught.owners[form] for form, ids in taught.tokens.items() for token in ids}
    left = iter(texts)
    while batch := list(islice(left, _TEXTS_AT_ONCE)):
        if any(isinstance(one, str) for one in batch):
            raise InputError("affected takes pairs of a key and a text; give enumerate(texts)", code="no-input")
        encoded = taught.tokenizer([text for _, text in batch], add_special_tokens=False, verbose=False)
        for (key, _), ids in zip(batch, encoded["input_ids"], strict=True):
            if own := tuple(dict.fromkeys(words[token] for token in ids if token in words)):
                yield key, own


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

"""Reading a corpus: lookups, and what happens when one of its files is damaged."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest

from rarewords.corpus.build import build
from rarewords.corpus.corpus import FILES, SENTENCES_PER_BATCH, Corpus
from rarewords.corpus.settings import CorpusSettings
from rarewords.errors import InputError
from tests.corpus import reference
from tests.errors import refused_with

WORDS = ["zero", "Number", "nosuchword", "the", "naïve", "", "two words"]


@pytest.fixture(scope="module")
def corpus(wikipedia, tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text.txt").write_text(wikipedia[:200_000], "utf-8")
    return build([folder / "text.txt"], folder / "corpus", CorpusSettings(contexts=50, window=5), workers=1)


@pytest.fixture
def copy(corpus, tmp_path):
    shutil.copytree(corpus.path, tmp_path / "copy")
    return tmp_path / "copy"


def test_references_are_the_same_contexts(corpus):
    owner, sentence, position = corpus.references(WORDS, 7)
    found = {word: [] for word in WORDS}
    for word, text, at in zip(owner.tolist(), corpus.sentences(sentence), position.tolist(), strict=True):
        found[WORDS[word]].append((text, *reference.spans(text)[at]))
    for word in WORDS:
        assert found[word] == corpus.contexts(word, 7)
    assert len(found["the"]) == 7
    assert [i for i, number in enumerate(corpus.find(WORDS)) if number < 0] == [2, 4, 5, 6]


def test_context_texts_are_the_same_contexts(corpus):
    found = {word: set() for word in WORDS}
    for owner, spans in corpus.context_texts(WORDS):
        for word, span in zip(owner.tolist(), spans, strict=True):
            found[WORDS[word]].add(span)
    for word in WORDS:
        assert found[word] == set(corpus.contexts(word))


def test_more_contexts_than_there_are(corpus):
    assert corpus.contexts("the", 10**30) == corpus.contexts("the")
    assert corpus.contexts("the", 0) == []


def test_the_key_tells_corpora_apart(corpus, copy, tmp_path):
    assert Corpus.open(copy).key == corpus.key
    (tmp_path / "more.txt").write_text("Another text.\n")
    assert build([tmp_path / "more.txt"], tmp_path / "other", workers=1).key != corpus.key


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_anywhere_is_refused_on_first_use(copy, name):
    data = (copy / name).read_bytes()
    for place in np.linspace(0, len(data) - 1, 9).astype(int).tolist():
        (copy / name).write_bytes(data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :])
        with refused_with("damaged") as caught:
            Corpus.open(copy).contexts("the")
        assert str(copy / name) in str(caught.value)
        with refused_with("damaged"):
            Corpus.open(copy).check()
    (copy / name).write_bytes(data[:-10])
    with refused_with("damaged"):
        Corpus.open(copy)
    (copy / name).unlink()
    with refused_with("damaged"):
        Corpus.open(copy)


def leaves(value, path=()):
    """The places of all values in nested JSON objects."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))


# What cannot be seen: another setting or number that may be right, and that texts are no longer listed.
UNSEEN = {
    "gone": {("settings", name) for name in ("contexts", "window", "lower_case", "words", "min_count", "seed")},
    "False": {("settings", "lower_case")},
    "{}": {("settings",)},
    "[]": {("texts",)},
}


@pytest.mark.parametrize("damage", ["gone", None, "text", -1.5, [], {}, 10**30, False])
def test_a_damaged_header_is_refused(copy, damage):
    header = json.loads((copy / "corpus.json").read_text())
    errors = {}
    for path in leaves(header):
        holder = changed = json.loads(json.dumps({"": header}))
        *parents, last = ("", *path)
        for name in parents:
            holder = holder[name]
        if damage == "gone":
            del holder[last]
        else:
            holder[last] = damage
        (copy / "corpus.json").write_text(json.dumps(changed.get("")))
        try:
            Corpus.open(copy).check()
        except InputError as error:
            errors[path] = error
    assert set(leaves(header)) - set(errors) == UNSEEN.get(str(damage), set())
    assert {error.code for error in errors.values()} <= {"damaged", "corpus", "settings"}
    assert all(str(copy) in str(error) and "\n" not in str(error) for error in errors.values())


@pytest.mark.parametrize(
    ("text", "code"), [("", "format"), ("{", "format"), ("[" * 100_000, "format"), ("5", "corpus")]
)
def test_a_header_that_is_no_object_is_refused(copy, text, code):
    (copy / "corpus.json").write_text(text)
    with refused_with(code):
        Corpus.open(copy)


def test_a_corpus_of_an_earlier_format_is_refused(copy):
    header = json.loads((copy / "corpus.json").read_text())
    (copy / "corpus.json").write_text(json.dumps({**header, "format": "rarewords-corpus-1"}))
    with refused_with("corpus"):
        Corpus.open(copy)


def test_sentences_lie_in_batches_that_arrow_compresses(corpus):
    with pa.ipc.open_file(str(corpus.path / "sentences.arrow")) as file:
        batches = [file.get_batch(number)["text"].to_pylist() for number in range(file.num_record_batches)]
    assert {len(batch) for batch in batches[:-1]} == {SENTENCES_PER_BATCH} == {128}
    texts = [text for batch in batches for text in batch]
    assert texts == corpus.sentences(np.arange(corpus.header.sentences))
    assert (corpus.path / "sentences.arrow").stat().st_size < sum(len(text.encode()) for text in texts) * 0.6

"""Reading a store: lookups, and what happens when one of its files is damaged."""

import json
import shutil

import numpy as np
import pytest

from rarewords.corpus.build import build
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.store import FILES, Store
from rarewords.errors import InputError
from tests.corpus import reference

WORDS = ["zero", "Number", "nosuchword", "the", "naïve", "", "two words"]


@pytest.fixture(scope="module")
def store(wikipedia, tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    (folder / "text.txt").write_text(wikipedia[:200_000], "utf-8")
    return build([folder / "text.txt"], folder / "store", CorpusSettings(contexts=50, window=5), workers=1)


@pytest.fixture
def copy(store, tmp_path):
    shutil.copytree(store.path, tmp_path / "copy")
    return tmp_path / "copy"


def test_references_are_the_same_contexts(store):
    owner, sentence, position = store.references(WORDS, 7)
    found = {word: [] for word in WORDS}
    for word, text, at in zip(owner.tolist(), store.sentences(sentence), position.tolist(), strict=True):
        found[WORDS[word]].append((text, *reference.spans(text)[at]))
    for word in WORDS:
        assert found[word] == store.contexts(word, 7)
    assert len(found["the"]) == 7
    assert [i for i, number in enumerate(store.find(WORDS)) if number < 0] == [2, 4, 5, 6]


def test_context_texts_are_the_same_contexts(store):
    found = {word: set() for word in WORDS}
    for owner, spans in store.context_texts(WORDS):
        for word, span in zip(owner.tolist(), spans, strict=True):
            found[WORDS[word]].add(span)
    for word in WORDS:
        assert found[word] == set(store.contexts(word))


def test_more_contexts_than_there_are(store):
    assert store.contexts("the", 10**30) == store.contexts("the")
    assert store.contexts("the", 0) == []


def test_the_key_tells_stores_apart(store, copy, tmp_path):
    assert Store.open(copy).key == store.key
    (tmp_path / "more.txt").write_text("Another text.\n")
    assert build([tmp_path / "more.txt"], tmp_path / "other", workers=1).key != store.key


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_anywhere_is_refused_on_first_use(copy, name):
    data = (copy / name).read_bytes()
    for place in np.linspace(0, len(data) - 1, 9).astype(int).tolist():
        (copy / name).write_bytes(data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :])
        with pytest.raises(InputError, match=f"{name} is damaged: its checksum differs"):
            Store.open(copy).contexts("the")
        with pytest.raises(InputError, match=f"{name} is damaged"):
            Store.open(copy).check()
    (copy / name).write_bytes(data[:-10])
    with pytest.raises(InputError, match=f"{name} is missing or damaged"):
        Store.open(copy)


def leaves(value, path=()):
    """The places of all values in nested JSON objects."""
    yield path
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))


# Another number of words, or no texts, is wrong but not seen to be.
UNCHECKED = {("totals", "sentences"), ("totals", "words"), ("totals", "replaced"), ("texts",)}


@pytest.mark.parametrize("damage", ["gone", None, "text", -1.5, [], {}, 10**30, False])
def test_a_damaged_header_is_refused(copy, damage):
    header = json.loads((copy / "store.json").read_text())
    messages = {}
    for path in leaves(header):
        holder = changed = json.loads(json.dumps({"": header}))
        *parents, last = ("", *path)
        for name in parents:
            holder = holder[name]
        if damage == "gone":
            del holder[last]
        else:
            holder[last] = damage
        (copy / "store.json").write_text(json.dumps(changed.get("")))
        try:
            Store.open(copy).check()
        except InputError as error:
            messages[path] = str(error)
    assert set(leaves(header)) - set(messages) <= UNCHECKED
    assert all(str(copy) in message and "\n" not in message for message in messages.values())


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "5", "\x00"])
def test_a_header_that_is_no_object_is_refused(copy, text):
    (copy / "store.json").write_text(text)
    with pytest.raises(InputError, match=r"store"):
        Store.open(copy)


def test_a_store_from_before_texts_were_kept_still_opens(copy, store):
    header = json.loads((copy / "store.json").read_text())
    del header["texts"]
    (copy / "store.json").write_text(json.dumps(header))
    assert Store.open(copy).contexts("zero") == store.contexts("zero")

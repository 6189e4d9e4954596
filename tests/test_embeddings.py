"""Word embeddings: saved and loaded unchanged, files appear whole, mistakes are named."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from rarewords import InputError, WordEmbeddings
from rarewords.embeddings import read_words
from tests.errors import refused_with

WORD = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=12).filter(lambda w: w.strip())


def some_embeddings(n=20, dim=8, seed=0):
    numbers = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return WordEmbeddings([f"word{i}" for i in range(n)], numbers, {"model": "default", "seed": seed})


@settings(max_examples=50, deadline=None)
@given(words=st.lists(WORD, unique=True, max_size=20), seed=st.integers(0, 99))
def test_a_saved_file_loads_the_same_words_embeddings_and_settings(tmp_path_factory, words, seed):
    matrix = np.random.default_rng(seed).standard_normal((len(words), 5)).astype(np.float32)
    path = tmp_path_factory.mktemp("embeddings") / "v.safetensors"
    WordEmbeddings(words, matrix, {"seed": seed}).save(path)
    loaded = WordEmbeddings.load(path)
    assert list(loaded.words) == words
    assert loaded.settings == {"seed": seed}
    np.testing.assert_array_equal(loaded.matrix, matrix)


def test_the_file_is_an_ordinary_safetensors_file_and_the_same_bytes_each_time(tmp_path):
    embeddings = some_embeddings()
    embeddings.save(tmp_path / "a")
    embeddings.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    np.testing.assert_array_equal(load_file(tmp_path / "a")["embeddings"], embeddings.matrix)


def test_a_number_of_a_file_is_read_when_it_is_first_used(tmp_path):
    path, ones = tmp_path / "v", np.ones((5000, 8), dtype=np.float32)
    WordEmbeddings((f"w{i}" for i in range(5000)), ones).save(path)
    loaded = WordEmbeddings.load(path)
    place = path.read_bytes().rindex(ones[0].tobytes())
    with path.open("r+b") as stream:
        stream.seek(place)
        stream.write((2 * ones[0]).tobytes())
    assert loaded.matrix[-1].tolist() == [2.0] * 8
    assert loaded.words[4999] == "w4999"


def test_subset_keeps_order_and_merge_prefers_the_other():
    a, b = some_embeddings(5), some_embeddings(8, seed=1)
    subset = a.subset(["word4", "word0"])
    assert list(subset) == ["word4", "word0"]
    np.testing.assert_array_equal(subset["word0"], a["word0"])
    merged = a.merge(b.subset(["word3", "word7"]))
    assert sorted(merged) == ["word0", "word1", "word2", "word3", "word4", "word7"]
    np.testing.assert_array_equal(merged["word3"], b["word3"])
    assert merged.get("nothing") is None


@pytest.mark.parametrize(
    ("words", "matrix", "named"),
    [
        (["a", "a"], np.ones((2, 2)), "'a'"),
        (["a", " "], np.ones((2, 2)), "embedding 2"),
        (["a"], np.ones((2, 2)), "1 words"),
        (["a", "b"], np.array([[1, 2], [3, np.nan]]), "'b'"),
        (["a", "b"], np.array([[np.inf, 2], [3, 4]]), "'a'"),
    ],
)
def test_bad_embeddings_are_refused_by_name(words, matrix, named):
    with refused_with("embeddings") as caught:
        WordEmbeddings(words, matrix)
    assert named in str(caught.value)


def test_embeddings_of_another_size_or_for_other_words_are_refused():
    embeddings = some_embeddings(3, dim=8)
    embeddings.require_dim(8)
    with refused_with("model-mismatch"):
        embeddings.require_dim(16)
    with refused_with("embeddings"):
        embeddings.merge(some_embeddings(3, dim=16))
    with refused_with("embeddings"):
        embeddings.subset(["word0", "kumquat"])


def test_the_key_depends_on_words_and_numbers_and_not_on_settings():
    embeddings = some_embeddings()
    assert WordEmbeddings(embeddings.words, embeddings.matrix, {"other": 1}).key == embeddings.key
    assert some_embeddings(seed=1).key != embeddings.key
    assert WordEmbeddings(embeddings.words[::-1], embeddings.matrix).key != embeddings.key


def test_bad_files_are_refused(tmp_path):
    with refused_with("missing-file"):
        WordEmbeddings.load(tmp_path / "nothing.safetensors")
    (tmp_path / "text").write_text("2 3\na 1 2 3\nb 1 2\n")
    with refused_with("damaged") as caught:
        WordEmbeddings.load(tmp_path / "text")
    assert "give a file" in str(caught.value)
    some_embeddings().save(tmp_path / "cut")
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:-10])
    with refused_with("damaged"):
        WordEmbeddings.load(tmp_path / "cut")
    save_file({"weight": np.ones((2, 3), np.float32)}, tmp_path / "other")
    with refused_with("embeddings"):
        WordEmbeddings.load(tmp_path / "other")


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_anywhere_is_refused_or_changes_nothing_but_numbers(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "v.safetensors"
    some_embeddings().save(path)
    raw = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(bytes(raw[: data.draw(st.sampled_from([len(raw), place]))]))
    try:
        loaded = WordEmbeddings.load(path)
        assert len(loaded.words) == len(loaded) == len(some_embeddings())
    except InputError:
        pass


def test_words_files_may_have_counts_comments_and_a_byte_order_mark(tmp_path):
    (tmp_path / "w.txt").write_bytes("\ufeffkumquat\t12\r\n\r\n# a remark\nice cream\n".encode())
    assert read_words(tmp_path / "w.txt") == ["kumquat", "ice cream"]
    (tmp_path / "empty.txt").write_text("\n")
    with refused_with("no-text"):
        read_words(tmp_path / "empty.txt")


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "mark"])
def test_a_byte_that_is_not_utf8_is_named_by_its_place_in_the_file(tmp_path, pack, mark):
    text = mark + b"word\n" * 5000 + b"bad\xff\n"
    (tmp_path / "words.txt").write_bytes(pack(text))
    with refused_with("unreadable") as caught:
        read_words(tmp_path / "words.txt")
    assert f"at byte {text.index(255)})" in str(caught.value)

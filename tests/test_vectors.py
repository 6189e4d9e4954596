"""Word vectors: what goes in comes out, files appear whole, mistakes are named."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from rarewords import InputError, WordVectors
from rarewords.vectors import read_words

WORD = st.text(st.characters(blacklist_categories=("Cs",)), min_size=1, max_size=12).filter(
    lambda w: w.strip()
)


def some_vectors(n=20, dim=8, seed=0):
    numbers = np.random.default_rng(seed).standard_normal((n, dim)).astype(np.float32)
    return WordVectors([f"word{i}" for i in range(n)], numbers, {"model": "default", "seed": seed})


@settings(max_examples=50, deadline=None)
@given(words=st.lists(WORD, unique=True, max_size=20), seed=st.integers(0, 99))
def test_a_saved_file_loads_the_same_words_vectors_and_settings(tmp_path_factory, words, seed):
    matrix = np.random.default_rng(seed).standard_normal((len(words), 5)).astype(np.float32)
    path = tmp_path_factory.mktemp("vectors") / "v.safetensors"
    WordVectors(words, matrix, {"seed": seed}).save(path)
    loaded = WordVectors.load(path)
    assert list(loaded.words) == words
    assert loaded.settings == {"seed": seed}
    np.testing.assert_array_equal(loaded.matrix, matrix)


def test_the_file_is_an_ordinary_safetensors_file_and_the_same_bytes_each_time(tmp_path):
    vectors = some_vectors()
    vectors.save(tmp_path / "a")
    vectors.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    np.testing.assert_array_equal(load_file(tmp_path / "a")["vectors"], vectors.matrix)


def test_a_number_of_a_file_is_read_when_it_is_first_used(tmp_path):
    path, ones = tmp_path / "v", np.ones((5000, 8), dtype=np.float32)
    WordVectors((f"w{i}" for i in range(5000)), ones).save(path)
    loaded = WordVectors.load(path)
    place = path.read_bytes().rindex(ones[0].tobytes())
    with path.open("r+b") as stream:
        stream.seek(place)
        stream.write((2 * ones[0]).tobytes())
    assert loaded.matrix[-1].tolist() == [2.0] * 8
    assert loaded.words[4999] == "w4999"


def test_word2vec_text_round_trip_is_exact_with_and_without_header_and_gz(tmp_path):
    vectors = some_vectors()
    for name in ("v.txt", "v.txt.gz"):
        vectors.save_word2vec(tmp_path / name)
        loaded = WordVectors.load_word2vec(tmp_path / name)
        assert list(loaded.words) == list(vectors.words)
        np.testing.assert_array_equal(loaded.matrix, vectors.matrix)
    headless = (tmp_path / "v.txt").read_text().split("\n", 1)
    assert headless[0] == "20 8"
    (tmp_path / "h.txt").write_text(headless[1])
    np.testing.assert_array_equal(WordVectors.load_word2vec(tmp_path / "h.txt").matrix, vectors.matrix)


def test_subset_keeps_order_and_merge_prefers_the_other():
    a, b = some_vectors(5), some_vectors(8, seed=1)
    subset = a.subset(["word4", "word0"])
    assert list(subset) == ["word4", "word0"]
    np.testing.assert_array_equal(subset["word0"], a["word0"])
    merged = a.merge(b.subset(["word3", "word7"]))
    assert sorted(merged) == ["word0", "word1", "word2", "word3", "word4", "word7"]
    np.testing.assert_array_equal(merged["word3"], b["word3"])
    assert merged.get("nothing") is None


@pytest.mark.parametrize(
    ("words", "matrix", "says"),
    [
        (["a", "a"], np.ones((2, 2)), "'a' is given twice"),
        (["a", " "], np.ones((2, 2)), "vector 2 is empty"),
        (["a"], np.ones((2, 2)), "1 words need"),
        (["a", "b"], np.array([[1, 2], [3, np.nan]]), "'b' holds NaN"),
        (["a", "b"], np.array([[np.inf, 2], [3, 4]]), "'a' holds NaN or infinite"),
    ],
)
def test_bad_vectors_are_refused_by_name(words, matrix, says):
    with pytest.raises(InputError, match=says):
        WordVectors(words, matrix)


def test_bad_files_are_named_with_the_reason(tmp_path):
    with pytest.raises(InputError, match=r"nothing\.safetensors does not exist"):
        WordVectors.load(tmp_path / "nothing.safetensors")
    (tmp_path / "text").write_text("2 3\na 1 2 3\nb 1 2\n")
    with pytest.raises(InputError, match=r"cannot be read .*; if it is word2vec text, name it \.txt"):
        WordVectors.load(tmp_path / "text")
    with pytest.raises(InputError, match="line 3: 2 numbers where 3"):
        WordVectors.load_word2vec(tmp_path / "text")
    (tmp_path / "words").write_text("a 1 2 3\nb 1 x 3\n")
    with pytest.raises(InputError, match="line 2: 'b' is not followed by numbers"):
        WordVectors.load_word2vec(tmp_path / "words")
    some_vectors().save(tmp_path / "cut")
    (tmp_path / "cut").write_bytes((tmp_path / "cut").read_bytes()[:-10])
    with pytest.raises(InputError, match=r"cut cannot be read .*make it again"):
        WordVectors.load(tmp_path / "cut")
    with pytest.raises(InputError, match="with a space"):
        WordVectors(["ice cream"], np.ones((1, 2))).save_word2vec(tmp_path / "spaced")
    assert not (tmp_path / "spaced").exists()


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damage_anywhere_is_refused_or_changes_nothing_but_numbers(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "v.safetensors"
    some_vectors().save(path)
    raw = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(bytes(raw[: data.draw(st.sampled_from([len(raw), place]))]))
    try:
        loaded = WordVectors.load(path)
        assert len(loaded.words) == len(loaded) == len(some_vectors())
    except InputError:
        pass


def test_words_files_may_have_counts_comments_and_a_byte_order_mark(tmp_path):
    (tmp_path / "w.txt").write_bytes("\ufeffkumquat\t12\r\n\r\n# a remark\nice cream\n".encode())
    assert read_words(tmp_path / "w.txt") == ["kumquat", "ice cream"]
    (tmp_path / "empty.txt").write_text("\n")
    with pytest.raises(InputError, match="holds no words"):
        read_words(tmp_path / "empty.txt")


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["", "mark"])
def test_a_byte_that_is_not_utf8_is_named_by_its_place_in_the_file(tmp_path, pack, mark):
    text = mark + b"word\n" * 5000 + b"bad\xff\n"
    (tmp_path / "words.txt").write_bytes(pack(text))
    with pytest.raises(InputError, match=rf"not UTF-8 text \(.* at byte {text.index(255)}\)"):
        read_words(tmp_path / "words.txt")

"""Sentences and words, by example and against the slow rules."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rarewords.corpus.text import MAX_SENTENCE, blocks, entry_pattern, split, word_hashes
from tests.corpus import reference


def words_of(text, **options):
    found = split(text, **options)
    return [found.text[a:b] for a, b in zip(found.starts, found.ends, strict=True)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the red-tailed hawk -- not", ["the", "red-tailed", "hawk", "not"]),
        ("9,000 of 3.14, and 1945-46.", ["9,000", "of", "3.14", "and", "1945-46"]),
        ("in the U.S. and the U.S.A. e.g. a.m", ["in", "the", "U.S.", "and", "the", "U.S.A.", "e.g.", "a.m"]),
        ("career.On Ph.D. x.y.z.", ["career", "On", "Ph", "D", "x.y.z."]),
        ("dog's they're I'll don't O'Brien's", ["dog", "'s", "they", "'re", "I", "'ll", "don't", "O", "Brien", "'s"]),
        ("‘quoted’ isn’t James’s", ["quoted", "isn’t", "James", "’s"]),
        ("dog's-eye it's'd I'd've", ["dog", "'s", "eye", "it", "'s", "'d", "I", "'d", "'ve"]),
        ("_emphasis_ snake_case", ["emphasis", "snake", "case"]),
        ("naïve Ångström हिन्दी Ελλάδα", ["naïve", "Ångström", "हिन्दी", "Ελλάδα"]),
        ("ency\u00adclopaedia zero\u200bwidth\ufeff", ["encyclopaedia", "zerowidth"]),
        ("bell\x07ring tab\tend", ["bell", "ring", "tab", "end"]),
        ("", []),
        ("... !!! —", []),
    ],
)
def test_words(text, expected):
    assert words_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One ends. Two begins! Three? Four.", ["One ends.", "Two begins!", "Three?", "Four."]),
        ("Dr. Smith met Mr. Jones. They left.", ["Dr. Smith met Mr. Jones.", "They left."]),
        ("J. R. R. Tolkien wrote. He lived.", ["J. R. R. Tolkien wrote.", "He lived."]),
        ("See vol. 3 and No. 5. No. He did.", ["See vol. 3 and No. 5.", "No.", "He did."]),
        ("He said “Go.” She went.", ["He said “Go.”", "She went."]),
        ("It cost approx. 5 pounds. (A lot.) Yes.", ["It cost approx. 5 pounds.", "(A lot.)", "Yes."]),
        ("no capital. follows here", ["no capital. follows here"]),
        ("line one\r\nline two\rline three", ["line one", "line two", "line three"]),
        ("漢字です。次の文。", ["漢字です。", "次の文。"]),
        ("In the U.S. Army. Born c. 1850 there.", ["In the U.S. Army.", "Born c. 1850 there."]),
    ],
)
def test_sentences(text, expected):
    assert split(text).sentences() == expected


def test_real_text_as_by_the_slow_rules(wikipedia):
    text = wikipedia[:150_000]
    found = split(text)
    assert found.sentences() == reference.sentences(reference.clean(text))
    lines = found.text.split("\n")
    expected = [line[a:b] for line in lines for a, b in reference.spans(line)]
    assert [found.text[a:b] for a, b in zip(found.starts, found.ends, strict=True)] == expected


parts = st.sampled_from(
    [*"aAbnNstTdmrevlL.,-'’\"()!?1270 _\n\t\r", "U.S.", "don't", "'s", "Dr. ", ". A", "é", "ß", "İ", "ह", "ि",
     "\u200d", "\xad", "\x00", "\x85", "。", "漢", "😀", "�", "…", "«", "»", "ǅ", "٣"]
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(parts, max_size=40).map("".join))
def test_any_text_as_by_the_slow_rules(text):
    cleaned = reference.clean(text)
    found = split(text)
    assert found.text == cleaned
    assert found.sentences() == reference.sentences(cleaned)
    for sentence in found.sentences():
        named = [reference.lower(sentence[a:b]) for a, b in reference.spans(sentence)]
        again = split(sentence, sentences=False)
        assert [sentence[a:b] for a, b in zip(again.starts, again.ends, strict=True)] == [
            sentence[a:b] for a, b in reference.spans(sentence)
        ]
        assert again.hashes.tolist() == [reference.word_hash(word) for word in named]


def test_lookup_hash_is_that_of_running_text():
    words = ["kumquat", "e.g.", "naïve", "हिन्दी"]
    assert word_hashes(words).tolist() == split(" ".join(words)).hashes.tolist()
    assert split("KUMQUAT").hashes[0] == word_hashes(["kumquat"])[0]
    assert split("KUMQUAT", lower_case=False).hashes[0] == word_hashes(["KUMQUAT"])[0]


def test_long_sentences_are_cut_between_words():
    text = "word " * 4000 + "dog's " * 2000 + "x" * 12000 + " end"
    found = split(text)
    sentences = found.sentences()
    assert max(len(one) for one in sentences if "xxx" not in one) <= MAX_SENTENCE
    assert "x" * 12000 in sentences
    assert [w for one in sentences for w in words_of(one, sentences=False)] == words_of(text)


def test_blocks_are_whole_lines(wikipedia):
    cut = list(blocks(wikipedia, 1000))
    assert "".join(cut) == wikipedia
    assert all(block.endswith("\n") for block in cut[:-1])
    assert len(cut) > 100


@pytest.mark.parametrize(
    ("word", "english", "any_script"),
    [("kumquat", True, True), ("e.g.", True, True), ("red-tailed", True, True), ("naïve", False, True),
     ("1945", False, False), ("3rd", False, True), ("'s", False, True), ("don't", False, True),
     ("x" * 65, False, False), ("हिन्दी", False, True), ("--", False, False), ("Kumquat", False, True)],
)  # fmt: skip
def test_word_rules(word, english, any_script):
    assert bool(entry_pattern("english", True).fullmatch(word)) == english
    assert bool(entry_pattern("any", True).fullmatch(word)) == any_script


def test_cased_rule_takes_capitals():
    assert entry_pattern("english", False).fullmatch("Kumquat")

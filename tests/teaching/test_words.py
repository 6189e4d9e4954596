"""Which words does the model lack, and which of them may be taught?"""

import pytest

from rarewords import Corpus, CorpusSettings
from rarewords.teaching.clutter import ADDRESS, CUT_OFF, INFLECTED, REPEATED
from rarewords.teaching.glossary import NO_DEFINITION, GlossaryEntry
from rarewords.teaching.words import (
    KNOWN,
    NOT_IN_TEXT,
    TAUGHT,
    count_words,
    listed_words,
    missing_words,
    without_clutter,
)
from tests.errors import refused_with
from tests.teaching.invented import sentences_of
from tests.teaching.test_clutter import CLUTTERED

NONE = frozenset()


def corpus_of(text, folder, **settings):
    (folder / "text.txt").write_text(text, "utf-8")
    return Corpus.build(folder / "text.txt", folder / "corpus", CorpusSettings(**settings), workers=1)


def test_split_words_are_missing_and_whole_ones_are_not(lm):
    counts = {"kumquat": 7, "apple": 100, "red-tailed": 50, "skiers": 6, "e.g.": 9}
    found = missing_words(counts, lm.tokens)
    missing = {word.word: word for word in found}
    assert "apple" not in missing
    assert missing["kumquat"].subwords == ("ku", "##m", "##qua", "##t")
    assert missing["kumquat"].fragmentation == pytest.approx(4 / 7)
    assert missing["skiers"].subwords == ("skier", "##s")
    assert missing["skiers"].fragmentation == pytest.approx(1 / 6)
    assert missing["red-tailed"].fragmentation == missing["e.g."].fragmentation == 0
    assert [word.word for word in found][:2] == ["kumquat", "skiers"]  # by count times fragmentation


def test_a_word_the_tokenizer_cannot_represent_is_all_fragments(lm):
    assert missing_words({"ꙮꙮ": 3}, lm.tokens)[0].fragmentation == 1


def test_a_text_without_words_is_refused(tmp_path):
    with refused_with("no-text"):
        count_words(corpus_of("1 2 3\n", tmp_path))


def test_clutter_and_taught_words_say_why_they_are_skipped(lm, tmp_path):
    corpus = corpus_of(CLUTTERED + sentences_of("torvane", "yurla", most=4), tmp_path)
    missing = missing_words(count_words(corpus), lm.tokens)
    found = {
        one.word: one.skipped for one in without_clutter(corpus, missing, lm.tokens, "append", frozenset({"torvane"}))
    }
    assert found["blimpet"] == found["yurla"] == ""
    assert found["torvane"] == TAUGHT
    expected = {"dailymed": ADDRESS, "zorblax": REPEATED, "wor": CUT_OFF, "skiers": INFLECTED}
    assert {word: found[word] for word in expected} == expected


def test_a_word_without_fragments_is_not_looked_at(lm, tmp_path):
    corpus = corpus_of("A red-tailed hawk, a red-tailed bird.\n", tmp_path)
    missing = missing_words(count_words(corpus), lm.tokens)
    assert "red-tailed" in {one.word for one in missing}
    found = without_clutter(corpus, missing, lm.tokens, "append", NONE)
    assert "red-tailed" not in {one.word for one in found}


def test_a_list_keeps_its_order_and_says_what_cannot_be_taught(lm, tmp_path):
    text = "Naïvetéx, naivetex and torvane, skiers. " * 9
    corpus = corpus_of(text, tmp_path, words="any")
    listed = ["naïvetéx", "naivetex", "Torvane", "torvane", "world", "zzyzx", "yurla", "skiers"]
    found = listed_words(listed, corpus, {}, lm.tokens, "append", frozenset({"yurla"}))
    assert [one.word for one in found] == [*("naïvetéx", "naivetex", "torvane", "world", "zzyzx", "yurla", "skiers")]
    reasons = {one.word: one.skipped for one in found}
    assert reasons.pop("naivetex")  # the same word to the tokenizer
    assert reasons == {
        "naïvetéx": "",
        "torvane": "",
        "world": KNOWN,
        "zzyzx": NOT_IN_TEXT,
        "yurla": TAUGHT,
        "skiers": "",  # a list decides, inflections included
    }
    assert {one.word: one.count for one in found}["torvane"] == 9


def test_a_definition_is_enough_unless_it_is_empty(lm):
    glossary = {"torvane": GlossaryEntry(("an instrument",)), "yurla": GlossaryEntry()}
    found = listed_words(["torvane", "yurla", "jorrin"], None, glossary, lm.tokens, "append", NONE)
    assert [one.skipped for one in found] == ["", NO_DEFINITION, NOT_IN_TEXT]


def test_the_count_of_a_phrase_is_that_of_its_sentences(lm, tmp_path):
    corpus = corpus_of(sentences_of("torvane", most=4) + "A slow torvane waltz.\n" * 2, tmp_path, words="any")
    (found,) = listed_words(["slow  Torvane waltz"], corpus, {}, lm.tokens, "append", NONE)
    assert (found.word, found.count, found.skipped) == ("slow torvane waltz", 1, "")  # each sentence once

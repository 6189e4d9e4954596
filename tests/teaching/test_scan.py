"""Which words does the model lack, and which are chosen?"""

import gzip
import json

import pytest

from rarewords import scan
from rarewords.corpus.build import build
from rarewords.corpus.settings import CorpusSettings
from rarewords.errors import InputError
from rarewords.teaching.clutter import ADDRESS, CUT_OFF, INFLECTED, REPEATED
from rarewords.teaching.scan import choose_words, missing_words
from rarewords.teaching.settings import TeachSettings
from tests.architectures import real_text
from tests.cli.run import rarewords, refused
from tests.teaching.invented import sentences_of

WORDS = ["torvane", "yurla"]


@pytest.fixture
def text(tmp_path):
    """Two words three times, one with an umlaut twice, the rest once."""
    path = tmp_path / "text.txt"
    path.write_text("Kumquat and apple. " * 3 + "Käsekrainer! " * 2 + "Lingonberry, salsify.\n", "utf-8")
    return path


def test_split_words_are_missing_and_whole_ones_are_not(lm):
    counts = {"kumquat": 7, "apple": 100, "red-tailed": 50, "skiers": 6, "e.g.": 9}
    found = missing_words(counts, lm.tokens)
    missing = {word.word: word for word in found}
    assert "apple" not in missing
    assert missing["kumquat"].pieces == ("ku", "##m", "##qua", "##t")
    assert missing["kumquat"].gain == pytest.approx(7 * 4 / 7)
    assert missing["skiers"].pieces == ("skier", "##s")
    assert missing["skiers"].gain == pytest.approx(6 / 6)
    assert missing["red-tailed"].gain == missing["e.g."].gain == 0
    assert found[0].word == "kumquat"


def test_a_word_the_tokenizer_cannot_represent_is_lost_altogether(lm):
    assert missing_words({"ꙮꙮ": 3}, lm.tokens)[0].gain == 3


def test_min_count_shortens_the_list_and_not_the_totals(text):
    every, frequent = (scan([text], min_count=count, workers=1) for count in (1, 3))
    assert {word.word for word in every.missing} == {"kumquat", "lingonberry", "salsify"}
    assert [word.word for word in frequent.missing] == ["kumquat"]
    assert (every.words, every.missing_words) == (frequent.words, frequent.missing_words) == (5, 3)
    assert every.occurrences == frequent.occurrences == 11
    assert every.missing_occurrences == frequent.missing_occurrences == 5
    shown = rarewords("-q", "scan", text, "--min-count", 3, "--workers", 1, "--ask", 0).stdout
    assert shown.startswith("3 of 5 words are not one piece for gte-mlm; they are 45.5 % of the text\n")
    assert "Of these, words that occur 3 times or more: 1\n" in shown


def test_words_with_umlauts_follow_the_rule_and_are_not_forgotten_silently(text):
    english, every = (scan([text], rule=rule, workers=1) for rule in ("english", "any"))
    assert (english.left_out, every.left_out) == (1, 0)
    assert "käsekrainer" not in {word.word for word in english.missing}
    assert "käsekrainer" in {word.word for word in every.missing}
    assert every.words == english.words + 1
    assert "Words that --rule english leaves out: 1 " in rarewords("-q", "scan", text, "--ask", 0).stdout
    assert "leaves out" not in rarewords("-q", "scan", text, "--rule", "any", "--ask", 0).stdout


def test_a_text_without_words_is_refused(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "numbers.txt").write_text("1 2 3\n")
    (tmp_path / "greek.txt").write_text("Ελληνικά\n", "utf-8")
    assert "empty.txt is empty" in refused("-q", "scan", tmp_path / "empty.txt")
    assert "the text holds no words" in refused("-q", "scan", tmp_path / "numbers.txt")
    assert "--rule any" in refused("-q", "scan", tmp_path / "greek.txt")
    assert "no text given" in refused("-q", "scan")
    assert "rule (--rule) must be english or any" in refused(
        "-q", "scan", tmp_path / "greek.txt", "--rule", "greek"
    )
    assert rarewords("-q", "scan", tmp_path / "greek.txt", "--rule", "any", "--ask", 0).stdout


def test_command_writes_table_json_and_words_file(tmp_path):
    out, text = tmp_path / "words.txt", real_text()[:250_000]
    (tmp_path / "wikipedia.txt.gz").write_bytes(gzip.compress(text.encode(), 1))
    command = [
        "-q",
        "scan",
        tmp_path / "wikipedia.txt.gz",
        "--workers",
        1,
        "--min-count",
        2,
        "--ask",
        3,
    ]
    lines = rarewords(*command, "--top", 5, "--out", out).stdout.splitlines()
    assert [line.split()[0] for line in lines[-6:-5]] == ["word"]
    rows = [line.split("\t") for line in out.read_text().splitlines()]
    assert [line.split()[0] for line in lines[-5:]] == [word for word, _ in rows]
    found = json.loads(rarewords(*command, "--json").stdout)
    assert [[word["word"], str(word["count"])] for word in found["missing"][:5]] == rows
    assert found["missing_words"] > len(found["missing"]) > 100
    gains = [word["gain"] for word in found["missing"]]
    assert gains == sorted(gains, reverse=True)
    for word in found["missing"][:50]:
        assert text.lower().count(word["word"]) >= word["count"] >= 2
        assert len(word["pieces"]) > 1


def test_cased_tokenizer_keeps_capitals(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    (tmp_path / "text.txt").write_text("Zyzzyva zyzzyva Zyzzyva apple.\n")
    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    bare.train_from_iterator(
        ["an apple and another apple " * 9], trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet)
    )
    PreTrainedTokenizerFast(tokenizer_object=bare).save_pretrained(tmp_path / "cased")
    (tmp_path / "cased" / "config.json").write_text('{"model_type": "roberta"}')
    found = scan([tmp_path / "text.txt"], str(tmp_path / "cased"), workers=1)
    assert [(word.word, word.count) for word in found.missing] == [("Zyzzyva", 2), ("zyzzyva", 1)]
    lower = scan([tmp_path / "text.txt"], workers=1)
    assert [(word.word, word.count) for word in lower.missing] == [("zyzzyva", 3)]


def test_without_a_list_the_text_is_searched_and_counts_are_bounded(lm, tmp_path):
    path = tmp_path / "invented.txt"
    path.write_text(sentences_of(*WORDS, most=6), "utf-8")
    store = build([path], tmp_path / "store", CorpusSettings(), workers=1)

    def chosen(**settings):
        return list(choose_words(store, lm.tokens, TeachSettings(**settings)).counts)

    assert set(chosen(min_count=6)) == set(WORDS)
    found = chosen(min_count=1, top=1)
    assert len(found) == 3  # three times as many, to be looked at
    assert set(found[:2]) == set(WORDS)  # those that lose most come first
    with pytest.raises(InputError, match="no word worth teaching"):
        chosen(min_count=7)


def test_words_that_cannot_be_one_token_are_refused_before_the_work(lm, tmp_path):
    (tmp_path / "text.txt").write_text("Naïvetéx, naivetex and torvane. " * 9, "utf-8")
    store = build([tmp_path / "text.txt"], tmp_path / "store", CorpusSettings(words="any"), workers=1)
    listed = ["naïvetéx", "naivetex", "torvane", "torvane", "world", "zzyzx"]
    chosen = choose_words(store, lm.tokens, TeachSettings(), listed)
    assert list(chosen.counts) == ["naïvetéx", "torvane"]
    assert "the same word" in chosen.refused["naivetex"]
    assert chosen.refused["world"] == "the model already has it as one piece"
    assert chosen.refused["zzyzx"] == "the text does not contain it as a word"
    with pytest.raises(InputError, match="none of the 1 words can be taught; 'world': the model already"):
        choose_words(store, lm.tokens, TeachSettings(), ["world"])


CLUTTERED = """
See http://dailymed.nlm.nih.gov/dailymed/druginfo.cfm?setid=3 and www.dailymed.org for the blimpet.
Ask joe@dailymed.org about a ripe blimpet, or read <b class=kapow>this</b> about the blimpet.
A blimpet fell from the tree, and the skiers ate the blimpet; skiers like it.
They were wor-
shipped, and wor-
king hard, they sold a blimpet to the skiers near the hut for a coin.
Copyright Zorblax Press, page 1.
Copyright Zorblax Press, page 2.
Copyright Zorblax Press, page 3.
Copyright Zorblax Press, page 4.
Druginfo.cfm again: http://druginfo.cfm/kapow=1 for all.
"""


def test_addresses_markup_repeated_lines_cut_off_words_and_inflections_are_passed_over(lm, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(CLUTTERED, "utf-8")
    found = scan([path], min_count=2, workers=1)
    assert [word.word for word in found.missing] == ["blimpet"]
    assert found.passed_over == {
        "dailymed": ADDRESS,
        "druginfo": ADDRESS,
        "cfm": ADDRESS,
        "kapow": ADDRESS,
        "zorblax": REPEATED,
        "wor": CUT_OFF,
        "skiers": INFLECTED,
    }
    store = build([path], tmp_path / "store", CorpusSettings(), workers=1)
    chosen = choose_words(store, lm.tokens, TeachSettings(min_count=2))
    assert list(chosen.counts) == ["blimpet"]
    assert chosen.passed_over == found.passed_over
    listed = choose_words(store, lm.tokens, TeachSettings(), ["zorblax", "skiers"])
    assert list(listed.counts) == ["zorblax", "skiers"]  # a list decides
    shown = rarewords("-q", "scan", path, "--min-count", 2, "--workers", 1, "--ask", 0).stdout
    assert "Passed over: in addresses or markup: 4 (" in shown
    assert "Passed over: in repeated lines only: 1 (zorblax)" in shown


def test_the_model_is_asked_about_the_first_words_and_their_need_orders_them(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(sentences_of(*WORDS, most=6), "utf-8")
    found = scan([path], min_count=6, ask=2, workers=1)
    assert {word.word for word in found.missing} == set(WORDS)
    for word in found.missing:
        assert len(word.answers) == 3
        assert 0 < word.need <= 1
        assert word.gain == pytest.approx(word.count * word.need)
    gains = [word.gain for word in found.missing]
    assert gains == sorted(gains, reverse=True)
    assert all(word.need is None and word.answers == () for word in scan([path], workers=1).missing)

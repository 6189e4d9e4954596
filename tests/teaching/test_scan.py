"""What a model lacks of a text, and that a scan, a dry run and teaching agree about it."""

import json
from itertools import product

import pytest

from rarewords import Corpus, LanguageModel, TeachSettings, scan, teach
from rarewords.teaching.scan import dry_run
from tests.architectures import real_text, sentence_transformer, small_model
from tests.cli.run import rarewords, refused
from tests.errors import refused_with
from tests.teaching.invented import sentences_of
from tests.teaching.test_clutter import CLUTTERED
from tests.teaching.test_mismatch import KNOWN

WORDS = ["torvane", "yurla"]
RARE = "Kumquat and apple. " * 3 + "Käsekrainer! " * 2 + "Lingonberry, salsify.\n"


def settings(**changes):
    return TeachSettings(**{"min_count": 1, "keep_all": True, **changes})


def words_of(found):
    return [one.word for one in found.words]


@pytest.fixture(scope="module")
def rare(lm):
    """English words by default."""
    return scan([RARE], lm, settings=settings())


def test_min_count_shortens_the_list_and_not_the_totals(lm, rare):
    frequent = scan([RARE], lm, settings=settings(min_count=3))
    assert set(words_of(rare)) == {"kumquat", "lingonberry", "salsify"}
    assert words_of(frequent) == ["kumquat"]
    for found in (rare, frequent):
        assert (found.distinct, found.split) == (5, 3)
        assert (found.occurrences, found.split_occurrences) == (11, 5)


def test_the_word_rule_decides_about_umlauts(lm, rare):
    every = scan([RARE], lm, settings=settings(rule="any"))
    assert set(words_of(every)) - set(words_of(rare)) == {"käsekrainer"}
    assert every.distinct == rare.distinct + 1


def test_a_cased_tokenizer_keeps_capitals(lm):
    cased = LanguageModel(*small_model("roberta"))
    text = "Zyzzyva zyzzyva Zyzzyva world.\n"
    found = scan([text], cased, settings=settings())
    assert [(word.word, word.count) for word in found.words] == [("Zyzzyva", 2), ("zyzzyva", 1)]
    lower = scan([text], lm, settings=settings())
    assert [(word.word, word.count) for word in lower.words] == [("zyzzyva", 3)]


def test_the_model_is_asked_about_the_words(lm):
    found = scan([sentences_of(*WORDS, most=6)], lm, settings=settings(min_count=6))
    assert set(words_of(found)) == set(WORDS)
    for word in found.words:
        assert len(word.answers) == 3
        assert 0 < word.mismatch <= 1
        assert word.mismatch_drop > 0


def test_a_corpus_is_a_text(tmp_path):
    lm = LanguageModel(*small_model("bert"))
    lines = sentences_of(*WORDS, most=4).splitlines()
    corpus = Corpus.build(lines, tmp_path / "corpus", workers=1)
    assert scan(corpus, lm) == scan(lines, lm) == scan(tmp_path / "corpus", lm)


@pytest.mark.parametrize(
    ("text", "code"), [("1 2 3\n", "no-text"), ("Ελληνικά\n", "no-text"), ("the and of\n", "nothing-to-teach")]
)
def test_a_text_without_words_to_teach_is_refused(text, code, lm):
    with refused_with(code):
        scan([text], lm)


def test_without_a_text_there_is_nothing_to_scan(tmp_path):
    refused("no-input", "-q", "scan")
    (tmp_path / "empty.txt").write_text("")
    refused("unreadable", "-q", "scan", tmp_path / "empty.txt")


def test_an_encoder_is_not_searched_for_words(tmp_path):
    encoder = sentence_transformer(tmp_path / "encoder")
    with refused_with("model-kind"):
        scan([RARE], encoder)


@pytest.mark.parametrize(
    ("source", "model", "changes"),
    [
        *product(["invented", "wikipedia"], ["small"], [{}, {"top": 5}, {"min_count": 4}, {"rule": "any"}]),
        pytest.param("invented", "bundled", {}, marks=pytest.mark.slow),
        pytest.param("wikipedia", "bundled", {"top": 5}, marks=pytest.mark.slow),
    ],
)
def test_scan_dry_run_and_teach_agree_on_words_order_mismatch_and_reasons(source, model, changes, request, tmp_path):
    lm = LanguageModel(*small_model("bert")) if model == "small" else request.getfixturevalue("lm")
    text = tmp_path / "text.txt"
    invented = CLUTTERED + KNOWN + sentences_of(*WORDS, most=5)
    text.write_text(invented if source == "invented" else real_text()[:60_000], "utf-8")
    changes = {
        "min_count": 2 if source == "invented" else 3,
        "keep_all": model == "small",
        **changes,
    }  # whose numbers are random
    given = {"settings": TeachSettings(**changes)}
    scanned, estimate = scan(text, lm, **given), dry_run(model=lm, texts=text, **given)
    assert scanned.words == estimate.words
    taught = teach(lm, texts=text, **given)
    chosen = [one.word for one in scanned.words if not one.skipped]
    assert [one.word for one in taught.words] == chosen
    assert taught.skipped == {one.word: one.skipped for one in scanned.words if one.skipped}
    assert {one.word: one.count for one in taught.words} == {
        one.word: one.count for one in scanned.words if not one.skipped
    }
    assert len(chosen) >= 2
    if "top" not in changes:
        assert taught.skipped


def test_the_command_writes_a_table_json_and_a_words_file(tmp_path):
    out, text = tmp_path / "words.txt", tmp_path / "text.txt"
    text.write_text(sentences_of(*WORDS, most=5) + CLUTTERED, "utf-8")
    command = ["-q", "scan", text, "--workers", 1, "--min-count", 2]
    lines = rarewords(*command, "--out", out).stdout.splitlines()
    found = json.loads(rarewords(*command, "--json").stdout)
    chosen = [one for one in found["words"] if not one["skipped"]]
    rows = [line.split("\t") for line in out.read_text("utf-8").splitlines()]
    assert rows == [[one["word"], str(one["count"])] for one in chosen]
    assert f"{found['split']} of {found['distinct']} distinct words" in lines[0]
    head, _, *table = lines[1 : 3 + len(chosen)]
    assert head.split()[:3] == ["word", "count", "mismatch"]
    for line, one in zip(table, chosen, strict=True):
        assert line.split()[:3] == [one["word"], str(one["count"]), f"{one['mismatch']:.2f}"]
        assert line.endswith(" ".join(one["subwords"]))
    skipped = lines[3 + len(chosen) :]
    assert len(skipped) == len({one["skipped"] for one in found["words"] if one["skipped"]}) > 0
    assert all(line.startswith("Skipped: ") for line in skipped)

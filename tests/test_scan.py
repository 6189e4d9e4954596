"""Which words does the model lack?"""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rarewords.cli.app import app
from rarewords.errors import InputError
from rarewords.scan import load_tokens, scan_counts, scan_text

DATA = Path(__file__).parent / "data" / "wikipedia.txt.gz"


@pytest.fixture(scope="module")
def tokens():
    return load_tokens("default")


def test_split_words_are_missing_and_whole_ones_are_not(tokens):
    words = ["kumquat", "apple", "red-tailed", "skiers", "e.g."]
    found = scan_counts(words, np.array([7, 100, 50, 6, 9]), tokens)
    missing = {word.word: word for word in found.missing}
    assert "apple" not in missing
    assert missing["kumquat"].pieces == ("ku", "##m", "##qua", "##t")
    assert missing["kumquat"].gain == pytest.approx(7 * 4 / 7)
    assert missing["skiers"].pieces == ("skier", "##s")
    assert missing["skiers"].gain == pytest.approx(6 / 6)
    assert missing["red-tailed"].gain == missing["e.g."].gain == 0
    assert found.missing[0].word == "kumquat"
    assert found.missing_occurrences == 7 + 50 + 6 + 9
    assert found.occurrences == 172


def test_what_the_tokenizer_cannot_write_is_lost_altogether(tokens):
    found = scan_counts(["ꙮꙮ"], np.array([3]), tokens)
    assert found.missing[0].gain == 3


def test_min_count(tokens):
    found = scan_counts(["kumquat", "lingonberry"], np.array([7, 2]), tokens, min_count=3)
    assert [word.word for word in found.missing] == ["kumquat"]


def test_command_writes_table_json_and_words_file(tmp_path):
    out = tmp_path / "words.txt"
    options = ["-q", "scan", "--text", str(DATA), "--workers", "1", "--min-count", "2"]
    table = CliRunner().invoke(app, [*options, "--top", "5", "--out", str(out)], catch_exceptions=False)
    lines = table.stdout.splitlines()
    assert len(lines) == 7
    rows = [line.split("\t") for line in out.read_text().splitlines()]
    assert [line.split()[0] for line in lines[2:]] == [word for word, _ in rows]
    found = json.loads(CliRunner().invoke(app, [*options, "--json"], catch_exceptions=False).stdout)
    assert [[w["word"], str(w["count"])] for w in found["missing"][:5]] == rows
    assert found["missing_words"] == len(found["missing"]) > 500
    gains = [word["gain"] for word in found["missing"]]
    assert gains == sorted(gains, reverse=True)
    text = gzip.decompress(DATA.read_bytes()).decode().lower()
    for word in found["missing"][:50]:
        assert text.count(word["word"]) >= word["count"] >= 2
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
    found = scan_text([tmp_path / "text.txt"], str(tmp_path / "cased"), workers=1)
    assert [(word.word, word.count) for word in found.missing] == [("Zyzzyva", 2), ("zyzzyva", 1)]
    lower = scan_text([tmp_path / "text.txt"], workers=1)
    assert [(word.word, word.count) for word in lower.missing] == [("zyzzyva", 3)]


def test_unknown_model_is_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot be loaded") as caught:
        load_tokens(str(tmp_path / "nothing"))
    assert "\n" not in str(caught.value)

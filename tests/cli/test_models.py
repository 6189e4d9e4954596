"""The commands on one model folder: ``ask``, ``inject``, ``words`` and ``forget``."""

import json
import re

import numpy as np
import pytest
from transformers import AutoTokenizer

from rarewords import LanguageModel, TeachSettings, WordEmbeddings, teach
from tests.architectures import small_model
from tests.cli.run import rarewords, refused
from tests.cli.test_help import COMMANDS


@pytest.fixture
def embeddings(tmp_path):
    path = tmp_path / "v.safetensors"
    WordEmbeddings(["kumquat", "salsify"], np.full((2, 384), 0.01, dtype=np.float32)).save(path)
    return path


def test_ask_answers_in_text_and_json():
    assert "bike" in rarewords("ask", "a bicycle is a _ .").stdout
    answer = json.loads(rarewords("ask", "a bicycle is a _ .", "--json", "--top", "3").stdout)
    assert len(answer[0]["answers"]) == 3
    assert 0 < answer[0]["answers"][0]["probability"] <= 1


def test_ask_takes_the_blank_of_any_model():
    sentences = ("a bicycle is a _ .", "a bicycle is a [MASK] .", "a bicycle is a <mask> .")
    lines = rarewords("ask", *sentences).stdout.splitlines()
    assert len({line.split("  ->  ")[1] for line in lines}) == 1
    assert [line.split("  ->  ")[0] for line in lines] == list(sentences)
    refused("pattern", "ask", "a _ is a [MASK] .")


def test_inject_makes_a_folder(tmp_path, embeddings):
    done = rarewords("inject", "--embeddings", embeddings, "--out", tmp_path / "a")
    assert done.stdout == f"{tmp_path / 'a'}: 2 words\n"
    tokens = AutoTokenizer.from_pretrained(tmp_path / "a").get_vocab()
    assert sorted(tokens.values())[-2:] == [30522, 30523]
    shown = rarewords("ask", "a kumquat is a _ .", "--model", tmp_path / "a")
    assert shown.stdout.startswith("a kumquat is a _ .")


def test_mistakes_are_one_line_and_exit_code_2(tmp_path):
    out = tmp_path / "out"
    refused("model-not-found", "ask", "a _ .", "--model", tmp_path / "missing")
    refused("model-not-found", "ask", "a _ .", "--model", tmp_path)
    refused("pattern", "ask", "no blank here")
    refused("device", "ask", "a _ .", "--device", "abacus")
    files = {
        "small": ("model-mismatch", WordEmbeddings(["kumquat"], np.ones((1, 3)))),
        "known": ("word", WordEmbeddings(["world"], np.full((1, 384), 0.1))),
        "empty": ("word", WordEmbeddings([], np.zeros((0, 384)))),
    }
    for name, (code, given) in files.items():
        given.save(tmp_path / name)
        refused(code, "inject", "--embeddings", tmp_path / name, "--out", out)
    refused("missing-file", "inject", "--embeddings", tmp_path / "nothing.safetensors", "--out", out)
    assert {path.name for path in tmp_path.iterdir()} == set(files)


def test_a_target_that_is_not_free_is_refused_and_left_alone(tmp_path, embeddings):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("keep")
    refused("output", "inject", "--embeddings", embeddings, "--out", out)
    assert (out / "mine").read_text() == "keep"
    refused("output", "inject", "--embeddings", embeddings, "--out", embeddings)
    refused("output", "inject", "--embeddings", embeddings, "--out", embeddings / "x")


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """A small model with two words from a glossary."""
    glossary = {"torvane": "a musical instrument", "yurla": "a drink"}
    result = teach(LanguageModel(*small_model("bert")), glossary=glossary, settings=TeachSettings(keep_all=True))
    folder = tmp_path_factory.mktemp("taught") / "taught"
    result.save_pretrained(folder)
    return folder


def test_words_lists_what_was_added(taught):
    header, _, *rows = rarewords("words", taught).stdout.splitlines()
    assert header.split() == ["word", "also", "count", "verdict", "learner"]
    about = ["0", "not checked", "default"]
    assert [re.split(" {2,}", row) for row in rows] == [[word, f"{word}s", *about] for word in ("torvane", "yurla")]
    assert len({row.index("not checked") for row in rows}) == 1
    found = json.loads(rarewords("words", taught, "--json").stdout)
    assert [one["word"] for one in found] == ["torvane", "yurla"]


def test_forget_leaves_the_other_words(taught, tmp_path):
    rarewords("forget", taught, "torvane", "--out", tmp_path / "fewer")
    (row,) = rarewords("words", tmp_path / "fewer").stdout.splitlines()[2:]
    assert row.startswith("yurla ")
    assert "with 1 more word\n" in (tmp_path / "fewer" / "README.md").read_text("utf-8")  # its plural is no other
    refused("word", "forget", tmp_path / "fewer", "torvane", "--out", tmp_path / "again")
    assert [path.name for path in tmp_path.iterdir()] == ["fewer"]


def test_words_says_so_when_there_are_none(tmp_path):
    for part in small_model("bert"):
        part.save_pretrained(tmp_path / "plain")
    assert rarewords("words", tmp_path / "plain").stdout == f"{tmp_path / 'plain'} has no added words\n"
    assert json.loads(rarewords("words", tmp_path / "plain", "--json").stdout) == []


def test_affected_names_a_line_of_plain_text_by_its_number(taught, tmp_path):
    (tmp_path / "a.txt").write_text("Nothing.\nHe tuned a torvane.\n")
    (tmp_path / "b.jsonl").write_text('{"id": "b7", "text": "A yurla, please."}\n')
    command = ("affected", tmp_path / "a.txt", tmp_path / "b.jsonl", "--model", taught, "--id", "id")
    assert rarewords(*command).stdout == f"{tmp_path / 'a.txt'}:2\ttorvane\nb7\tyurla\n"
    assert "plain text" in next(one.help for one in COMMANDS["affected"].params if one.name == "id_field")

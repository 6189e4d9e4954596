"""What counts as a text: paths, patterns, strings, records, standard input."""

import io
import json
import os
import sys

import pytest

from rarewords import Corpus
from rarewords.corpus.settings import CorpusSettings
from rarewords.corpus.sources import find_sources, spool
from tests.corpus.conftest import digests, tables
from tests.errors import refused_with

SENTENCES = ("The kumquat is a small fruit.", "Nobody peels a kumquat.", "Salsify is a root.")


def words_of(corpus):
    """The distinct words of a corpus."""
    return set(corpus.counts()[0])


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Texts of every kind


def test_strings_are_texts(here):
    corpus = Corpus.build(SENTENCES, here / "corpus")
    assert (corpus.count("kumquat"), corpus.totals.sentences) == (2, 3)
    assert [context.sentence for context in corpus.contexts("salsify")] == [SENTENCES[2]]


def test_one_string_is_one_text(here):
    assert words_of(Corpus.build("a ripe plum", here / "corpus")) == {"a", "ripe", "plum"}


def test_strings_files_and_records_give_the_same_corpus(here):
    (here / "all.txt").write_text("\n".join(SENTENCES) + "\n")
    (here / "all.jsonl").write_text("".join(json.dumps({"body": one}) + "\n" for one in SENTENCES))
    expected = Corpus.build(SENTENCES, here / "strings")
    ways = {
        "file": here / "all.txt",
        "name": "all.txt",
        "pattern": "*.txt",
        "lines": "all.jsonl",
        "records": [{"body": one, "id": number} for number, one in enumerate(SENTENCES)],
        "generator": (one for one in SENTENCES),
        "mixed": [SENTENCES[2], {"body": SENTENCES[0]}, SENTENCES[1]],
    }
    for way, texts in ways.items():
        assert tables(Corpus.build(texts, here / way, field="body").path) == tables(expected.path), way


def test_a_path_with_spaces_and_a_text_with_a_file_name_in_it(here):
    (here / "my notes").write_text("kumquat")
    (here / "notes.txt").write_text("salsify")
    assert words_of(Corpus.build(["my notes"], here / "a")) == {"kumquat"}  # it exists, so it is a file
    assert words_of(Corpus.build(["see notes.txt"], here / "b")) == {"see", "notes", "txt"}


def test_a_pattern_with_spaces_is_a_path_if_it_is_given_as_one(here):
    (here / "my notes.txt").write_text("kumquat")
    (found,) = find_sources(spool(spool([here / "my *.txt"], here / "once"), here / "twice"))
    assert found.path == str(here / "my notes.txt")


def test_a_folder_is_all_its_text_files(here):
    (here / "texts").mkdir()
    (here / "texts" / "a.txt").write_text("kumquat")
    (here / "texts" / "b.csv").write_text("text\nsalsify\n")
    (here / "texts" / "picture.png").write_bytes(b"lime")
    assert words_of(Corpus.build("texts", here / "corpus")) == {"kumquat", "salsify"}


def test_an_empty_string_is_an_empty_text_not_the_current_folder(here):
    (here / "other.txt").write_text("salsify")
    assert words_of(Corpus.build(["", "kumquat", " "], here / "corpus")) == {"kumquat"}


def test_odd_strings_are_texts(here):
    texts = ["kumquat " * 5000, "salsify\0lime", "half a pair \ud800 plum", "x" * 300]
    corpus = Corpus.build(texts, here / "corpus")
    assert [corpus.count(word) for word in ("kumquat", "salsify", "lime", "plum")] == [5000, 1, 1, 1]


def test_a_string_with_several_lines_is_several_lines(here):
    assert Corpus.build(["one line\nand another"], here / "corpus").totals.sentences == 2


def test_standard_input_is_read_once_and_goes_with_other_texts(here, monkeypatch):
    (here / "a.txt").write_text("salsify")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"kumquat\n")))
    assert words_of(Corpus.build(["-", here / "a.txt", "-", "a lime"], here / "corpus")) == {
        "kumquat", "salsify", "a", "lime"
    }  # fmt: skip


def test_strings_are_not_kept_after_the_corpus_is_finished(here):
    Corpus.build(SENTENCES, here / "corpus")
    assert [path.name for path in here.iterdir()] == ["corpus"]


def test_a_corpus_of_strings_resumes_after_an_interruption(here, monkeypatch):
    from rarewords.corpus import build as module

    with monkeypatch.context() as context:
        context.setattr(module, "merge_parts", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            Corpus.build(SENTENCES, here / "corpus")
    whole = Corpus.build(SENTENCES, here / "whole")
    monkeypatch.setattr(module, "part_of_text", lambda *_: pytest.fail("this part is finished"))
    assert digests(Corpus.build(iter(SENTENCES), here / "corpus").path) == digests(whole.path)


def test_settings_and_field_reach_the_corpus(here):
    settings = CorpusSettings(contexts=1, lower_case=False)
    corpus = Corpus.build([{"body": one} for one in SENTENCES], here / "corpus", settings, field="body")
    assert corpus.settings == settings
    assert (corpus.count("Salsify"), corpus.count("salsify"), len(corpus.contexts("kumquat"))) == (1, 0, 1)


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ([], "no-text"),
        (iter(()), "no-text"),
        (["..."], "no-text"),
        (["notes.txt"], "missing-file"),
        (["notes.jsonl.gz", "a text"], "missing-file"),
        (["*.txt"], "no-text"),
        ([{"body": "a text"}], "field"),
        ([{"text": 5}], "field"),
        ([{"text": None}], "field"),
        ("", "no-text"),
    ],
)
def test_texts_that_cannot_be_used_are_refused_and_leave_nothing(here, texts, code):
    with refused_with(code):
        Corpus.build(texts, here / "corpus")
    assert list(here.iterdir()) == []


# Which files


def test_folders_patterns_and_repetition(tmp_path):
    for name in ("b.txt", "a.jsonl.gz", "image.png", "deep/c.md", ".hidden/d.txt", ".e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"text")
    found = [source.path for source in find_sources([tmp_path, str(tmp_path / "*.txt")])]
    assert [path.removeprefix(f"{tmp_path}/") for path in found] == ["a.jsonl.gz", "b.txt", "deep/c.md"]


def test_missing_files_and_empty_folders(tmp_path):
    with refused_with("missing-file"):
        find_sources([tmp_path / "gone.txt"])
    with refused_with("no-text"):
        find_sources([tmp_path])
    os.mkfifo(tmp_path / "pipe")
    with refused_with("unreadable"):
        find_sources([tmp_path / "pipe"])
    with refused_with("no-text"):
        find_sources([str(tmp_path / "*.txt")])

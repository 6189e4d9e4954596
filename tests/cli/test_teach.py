"""`rarewords teach` as a new user meets it: what it prints, and what it says of mistakes."""

import json
import signal
import subprocess
import sys

import pytest

from rarewords._internal.files import read_json
from rarewords.teaching.words import KNOWN, NOT_IN_TEXT
from tests.architectures import small_model
from tests.cli.run import rarewords, refused
from tests.teaching.invented import sentences_of

WORDS = ["torvane", "thassel", "yurla"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A text, a list of words and a small model."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "text.txt").write_text(sentences_of(*WORDS, most=5), "utf-8")
    (folder / "words.txt").write_text("torvane\nthassel\nYurla\nworld\nzzyzx\n")
    for part in small_model("bert"):
        part.save_pretrained(folder / "small")
    return folder


@pytest.fixture(scope="module")
def text(folder):
    return folder / "text.txt"


@pytest.fixture
def command(folder, text):
    """The command that teaches the small model the words."""
    return ("teach", text, "--words", folder / "words.txt", "--model", folder / "small", "--workers", 1)


def test_it_prints_answers_before_and_after_and_every_word_not_taught(folder, text, tmp_path):
    out = tmp_path / "model"
    command = ("-q", "teach", text, "--words", folder / "words.txt", "--out", out, "--workers", 1)
    shown = rarewords(*command)
    lines = [line.split() for line in shown.stdout.splitlines()]
    report = read_json(out / "teaching.json")
    for one in report["words"]:
        (row,) = [line for line in lines if line[:1] == [one["word"]]]
        assert ", ".join(one["before"][:3]) in " ".join(row)
        assert ", ".join(one["after"][:3]) in " ".join(row)
        assert row[-1] == one["verdict"]
    assert f"{out}: gte-mlm with {len(report['words'])} more words\n" in shown.stdout
    assert f"Skipped: {KNOWN}: 1 (world)\n" in shown.stdout
    assert f"Skipped: {NOT_IN_TEXT}: 1 (zzyzx)\n" in shown.stdout
    assert shown.stderr == ""
    refused("output", "-q", "teach", text, "--out", out)


def test_json_is_the_report_and_progress_is_on_stderr(command, tmp_path):
    out = tmp_path / "model"
    shown = rarewords(*command, "--set", "keep_all=true", "--out", out, "--json")
    report = json.loads(shown.stdout)
    assert report.pop("folder") == str(out)
    assert {**report, "earlier": []} == read_json(out / "teaching.json")  # words of earlier teachings
    assert [one["word"] for one in report["words"]] == WORDS
    assert set(report["skipped"]) == {"world", "zzyzx"}
    assert "Words: 3 to teach" in shown.stderr


def test_a_dry_run_names_words_stages_and_time_and_leaves_nothing(command, tmp_path):
    shown = rarewords("-q", *command, "--out", tmp_path / "model", "--dry-run")
    assert "Would add 3 words to small: torvane, thassel, yurla\n" in shown.stdout
    assert f"Skipped: {NOT_IN_TEXT}: 1 (zzyzx)\n" in shown.stdout
    assert shown.stdout.splitlines()[-1].split()[:3] == ["in", "all,", "about"]
    assert shown.stderr == ""
    assert list(tmp_path.iterdir()) == []
    found = json.loads(rarewords("-q", *command, "--dry-run", "--json").stdout)
    assert {one["word"]: bool(one["skipped"]) for one in found["words"]} == {
        **dict.fromkeys(WORDS, False),
        "world": True,
        "zzyzx": True,
    }


def test_a_glossary_is_enough(folder, tmp_path):
    (tmp_path / "terms.csv").write_text("term,definition\ntorvane,a musical instrument\nyurla,a drink\n")
    command = ("-q", "teach", "--glossary", tmp_path / "terms.csv", "--model", folder / "small")
    report = json.loads(rarewords(*command, "--out", tmp_path / "model", "--json").stdout)
    assert [one["word"] for one in report["words"]] == ["torvane", "yurla"]


def test_a_second_run_says_which_words_are_new_and_counts_as_its_card_does(folder, tmp_path):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    first.write_text("term,definition\ntorvane,a musical instrument\nyurla,a drink\n")
    second.write_text("term,definition\nthassel,a boat\n")
    rarewords("-q", "teach", "-g", first, "--model", folder / "small", "--out", tmp_path / "one")
    shown = rarewords("-q", "teach", "-g", second, "--model", tmp_path / "one", "--out", tmp_path / "two").stdout
    assert f"{tmp_path / 'two'}: small with 3 more words: 1 new, 2 from before\n" in shown
    assert "Verdicts of the new words: 1 not checked\n" in shown
    card = (tmp_path / "two" / "README.md").read_text("utf-8")
    assert "# small with 3 more words\n" in card
    assert "\n\nthassel, torvane, yurla\n\n" in card  # their plurals are in the table
    assert "| thassel (also thassels)" in card


def test_a_corpus_is_a_text(text, command, tmp_path):
    made = ("corpus", "build", text, "--out", tmp_path / "corpus", "--set", "words=any", "--workers", 1)
    rarewords("-q", *made)
    given = ("-q", *command, "--set", "keep_all=true", "--json")
    by_corpus = [tmp_path / "corpus" if one == text else one for one in given]
    one, other = (
        json.loads(rarewords(*arguments, "--out", tmp_path / name).stdout)
        for name, arguments in (("one", given), ("other", by_corpus))
    )
    assert one["words"] == other["words"]


def test_a_question_with_brackets_is_shown_as_it_is(command, tmp_path):
    question = "question=[/b] a <W> [red] is :apple: _"
    shown = rarewords("-q", *command, "--set", "keep_all=true", "--set", question, "--out", tmp_path / "model")
    assert "[/b] a … [red] is :apple: _" in shown.stdout


def test_mistakes_are_one_line(text, tmp_path):
    out, empty = tmp_path / "out", tmp_path / "empty.txt"
    empty.write_text("")
    (tmp_path / "folder").mkdir()

    def wrong(code, *arguments):
        return refused(code, "-q", "teach", *arguments, "--out", out, "--workers", 1)

    wrong("no-input")
    wrong("unreadable", empty)
    wrong("missing-file", tmp_path / "nothing.txt")
    wrong("no-text", tmp_path / "folder")
    wrong("missing-file", text, "--words", tmp_path / "nothing.txt")
    wrong("no-text", text, "--words", empty)
    wrong("glossary", "--glossary", empty)
    wrong("settings", text, "--set", "rule=latin")
    wrong("settings", text, "--set", "question=a <W>")
    wrong("settings", text, "--set", "top")
    wrong("learner", text, "--learner", tmp_path / "folder")
    wrong("model-not-found", text, "--model", tmp_path / "folder")
    wrong("device", text, "--device", "abacus")
    refused("output", "-q", "teach", text, "--out", text)
    assert not out.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"empty.txt", "folder"}


def test_the_output_must_be_named(text):
    shown = rarewords("-q", "teach", text, code=2)
    assert "--out" in shown.stderr


@pytest.mark.parametrize("options", [("--words", "absent.txt"), ("--min-count", 100)])
def test_an_error_that_would_come_again_leaves_no_work_and_offers_no_resuming(
    options, folder, text, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "absent.txt").write_text("zzyzx\nquux\n")
    command = ("teach", text, *options, "--model", folder / "small", "--out", "out", "--workers", 1)
    shown = rarewords(*command, code=2)
    assert shown.stderr.splitlines()[-1].endswith("[nothing-to-teach]")
    assert "resumes" not in shown.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["absent.txt"]


def test_settings_come_from_a_file_and_options_win(command, tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text('contexts = 4\nkeep_all = true\nplacement = "append"\ntop = 7\n')
    options = ("--settings", settings, "--set", "top=8", "--placement", "replace", "--json")
    report = json.loads(rarewords("-q", *command, *options, "--out", tmp_path / "model").stdout)
    chosen = {name: report["settings"][name] for name in ("contexts", "top", "placement")}
    assert chosen == {"contexts": 4, "top": 8, "placement": "replace"}
    assert {word["contexts"] for word in report["words"]} == {4}


def test_a_mistake_in_a_settings_file_names_the_file_and_the_key(text, tmp_path):
    settings = tmp_path / "settings.toml"

    def wrong(content, code="settings"):
        settings.write_bytes(content)
        return refused(code, "-q", "teach", text, "--out", tmp_path / "out", "--settings", settings)

    assert "settings.toml: unknown setting 'sentences'; there are allow_prediction" in wrong(b"sentences = 3")
    assert "settings.toml: contexts cannot be 'many'" in wrong(b"contexts = 'many'")
    assert "settings.toml: placement cannot be 1" in wrong(b"placement = 1")
    assert "settings.toml: rule must be one of english, any, not 'latin'" in wrong(b"rule = 'latin'")
    assert "settings.toml: contexts must be at least 1, not 0" in wrong(b"contexts = 0")
    wrong(b"contexts: 3")
    wrong(b"\xff\xfe", "unreadable")
    settings.unlink()
    refused("missing-file", "-q", "teach", text, "--out", tmp_path / "out", "--settings", settings)


@pytest.mark.slow
def test_ctrl_c_says_where_the_work_is_and_the_same_command_resumes(command, tmp_path):
    command = [*map(str, command), "--out", str(tmp_path / "model"), "--set", "keep_all=true"]
    process = subprocess.Popen(
        [sys.executable, "-m", "rarewords", *command], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith("Words: "):
            process.send_signal(signal.SIGINT)
            break
    rest = process.communicate()[1]
    assert process.returncode == 130, "".join(said) + rest
    assert "the same command resumes" in rest
    assert "rarewords: interrupted" in rest
    assert not (tmp_path / "model").exists()
    again = rarewords("-q", *command)
    assert "more words" in again.stdout
    assert not (tmp_path / ".model.work").exists()

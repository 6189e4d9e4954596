"""`rarewords teach` as a new user meets it: what it prints, and what it says of mistakes."""

import json
import signal
import subprocess
import sys

import pytest

from rarewords.files import read_json
from tests.cli.run import rarewords, refused
from tests.teaching.invented import sentences_of

WORDS = ["torvane", "thassel", "yurla"]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "invented.txt"
    path.write_text(sentences_of(*WORDS, most=5), "utf-8")
    return path


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("torvane\nthassel\nYurla\nworld\nzzyzx\n")
    return path


def test_it_prints_answers_before_and_after_and_every_word_not_taught(text, words, tmp_path):
    out = tmp_path / "model"
    shown = rarewords("-q", "teach", text, "--words", words, "--out", out, "--workers", 1)
    for part in ("torvane", "before", "after", "verdict", "Verdicts: ", "Held-out contexts, "):
        assert part in shown.stdout
    assert "Not taught: zzyzx: the text does not contain it as a word" in shown.stdout
    assert "Not taught: world: the model already has it as one piece" in shown.stdout
    assert shown.stderr == ""
    assert "exists and is not empty" in refused("-q", "teach", text, "--out", out)


def test_json_is_the_report_and_progress_is_on_stderr(text, words, tmp_path):
    out = tmp_path / "model"
    shown = rarewords("teach", text, "--words", words, "--out", out, "--workers", 1, "--json")
    report = json.loads(shown.stdout)
    assert report.pop("folder") == str(out)
    assert {**report, "earlier": []} == read_json(out / "teaching.json")  # words of earlier teachings
    assert set(report["refused"]) == {"world", "zzyzx"}
    assert "Words: 3 to teach, 2 refused" in shown.stderr


def test_the_plan_names_words_stages_and_time_and_does_nothing(text, words, tmp_path):
    out = tmp_path / "model"
    command = ("-q", "teach", text, "--words", words, "--out", out, "--workers", 1, "--plan")
    shown = rarewords(*command)
    assert "Would teach gte-mlm 3 words: torvane, thassel, yurla" in shown.stdout
    assert "in all, about" in shown.stdout
    assert "Would not teach: zzyzx: the text does not contain it" in shown.stdout
    assert shown.stderr == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["words.txt"]


def test_a_question_with_brackets_is_shown_as_it_is(text, words, tmp_path):
    command = ("-q", "teach", text, "--words", words, "--out", tmp_path / "model", "--workers", 1)
    shown = rarewords(*command, "--question", "[/b] a <W> [red] is :apple: _").stdout
    assert "[/b] a … [red] is :apple: _" in shown


def test_mistakes_are_one_line(text, tmp_path):
    out = tmp_path / "out"
    empty, absent = tmp_path / "empty.txt", tmp_path / "absent.txt"
    empty.write_text("")
    absent.write_text("zzyzx\nquux\n")

    def wrong(*arguments):
        return refused("-q", "teach", *arguments, "--out", out, "--workers", 1)

    assert "empty.txt is empty" in wrong(empty)
    assert "none of the 2 words can be taught; 'zzyzx'" in wrong(text, "--words", absent)
    assert "give either text" in wrong()
    assert "give either text" in wrong(text, "--corpus", tmp_path)
    assert "is not a store" in wrong("--corpus", tmp_path)
    assert "does not exist" in wrong(tmp_path / "nothing.txt")
    assert "does not exist" in wrong(text, "--words", tmp_path / "nothing.txt")
    assert "rule must be one of english, any" in wrong(text, "--rule", "latin")
    assert "is not a mimic model" in wrong(text, "--learner", tmp_path)
    assert "no config.json" in wrong(text, "--model", tmp_path)
    assert "is a file, not a folder" in refused("-q", "teach", text, "--out", text)
    assert not out.exists()


def test_a_hopeless_error_leaves_no_work_and_offers_no_resuming(text, tmp_path):
    absent, out = tmp_path / "absent.txt", tmp_path / "out"
    absent.write_text("zzyzx\n")
    shown = rarewords("teach", text, "--words", absent, "--out", out, "--workers", 1, code=2)
    assert "none of the 1 words can be taught" in shown.stderr
    assert "resumes" not in shown.stderr
    shown = rarewords("teach", text, "--min-count", 100, "--out", out, "--workers", 1, code=2)
    assert "no word worth teaching" in shown.stderr
    assert "resumes" not in shown.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["absent.txt"]


def test_settings_come_from_a_file_and_options_win(text, words, tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text("contexts = 4\nkeep_all = true\nslash = true\n")
    command = ("-q", "teach", text, "--words", words, "--settings", settings, "--replace", "--json")
    report = json.loads(rarewords(*command, "--out", tmp_path / "model", "--workers", 1).stdout)
    assert report["settings"]["contexts"] == 4
    assert report["settings"]["slash"] is False
    assert {word["contexts"] for word in report["words"]} == {4}


def test_mistakes_in_a_settings_file_name_the_file_and_the_key(text, tmp_path):
    settings = tmp_path / "settings.toml"

    def wrong(content):
        settings.write_text(content)
        return refused("-q", "teach", text, "--out", tmp_path / "out", "--settings", settings)

    assert "settings.toml: unknown setting 'sentences'; there are contexts, keep_all" in wrong(
        "sentences = 3"
    )
    assert "settings.toml: contexts cannot be 'many'" in wrong("contexts = 'many'")
    assert "settings.toml: slash cannot be 1" in wrong("slash = 1")
    assert "settings.toml: rule must be one of english, any, not 'latin'" in wrong("rule = 'latin'")
    assert "settings.toml cannot be read" in wrong("contexts: 3")
    assert "settings.toml: contexts must be at least 1, not 0" in wrong("contexts = 0")
    settings.unlink()
    said = refused("-q", "teach", text, "--out", tmp_path / "out", "--settings", settings)
    assert "settings.toml does not exist" in said


def test_ctrl_c_says_where_the_work_is_and_the_same_command_goes_on(text, words, tmp_path):
    command = [sys.executable, "-m", "rarewords", "teach", text, "--words", words]
    command = [str(part) for part in [*command, "--out", tmp_path / "model", "--workers", "1"]]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
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
    again = rarewords("-q", *command[3:])
    assert "more words" in again.stdout
    assert not (tmp_path / ".model.work").exists()

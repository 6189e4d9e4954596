"""``rarewords ota`` as a user calls it."""

import json

import pytest

from rarewords.ota.settings import PRESETS, OtaSettings
from rarewords.vectors import WordVectors
from tests.cli.run import rarewords


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("kumquat\nlime\nkumquat\nred panda\n")
    return path


def test_vectors_and_notes(words, tmp_path):
    out = tmp_path / "v.safetensors"
    done = rarewords("ota", "--words", words, "--out", out, "--method", "avg", "--device", "cpu")
    vectors = WordVectors.load(out)
    assert list(vectors.words) == ["kumquat", "red panda"]
    assert vectors.settings["method"] == "avg"
    assert "2 vectors; 1 words left out" in done.stdout
    assert "'lime': is already one piece" in done.stderr
    assert "'kumquat': given more than once" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v.safetensors", "words.txt"]


def test_options_reach_the_settings_and_json_is_json(words, tmp_path):
    out = tmp_path / "v.safetensors"
    options = ["--preset", "paper", "--iterations", "2", "--contexts", "static", "--layers", "1-2,4"]
    done = rarewords(
        "ota", "--words", words, "--out", out, *options, "--keep-single", "--json", "--seed", "3"
    )
    result = json.loads(done.stdout)
    assert result["words"] == 3
    assert [note["kind"] for note in result["notes"]] == ["one piece", "duplicate"]
    found = WordVectors.load(out).settings["ota"]
    assert (found["contexts"], found["iterations"], found["layers"], found["seed"]) == (
        "static",
        2,
        [1, 2, 4],
        3,
    )
    rarewords("ota", "--words", words, "--out", out, "--iterations", 3)
    assert WordVectors.load(out).settings["ota"]["averaging_steps"] == 3


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--shard", "3/2"], "'3/2' is not a part"),
        (["--layers", "a"], "--layers 'a' is not a list"),
        (["--layers", "9"], "6 layers, so there is no layer 9"),
        (["--preset", "slow"], "preset must be one of paper, fast"),
        (["--method", "best"], "method must be one of ota, first"),
        (["--start", "middle"], "start must be one of"),
    ],
)
def test_mistakes_are_one_line(words, tmp_path, options, part):
    done = rarewords("ota", "--words", words, "--out", tmp_path / "v.safetensors", *options, code=2)
    assert part in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "v.safetensors").exists()


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "none.txt").write_text("\n\n")
    done = rarewords("ota", "--words", tmp_path / "none.txt", "--out", tmp_path / "v", code=2)
    assert "holds no words" in done.stderr


def test_eval_writes_table_figure_and_numbers(tmp_path, monkeypatch):
    # The preset as it is, only with less to learn from: the full one takes most of a minute on a CPU.
    small = OtaSettings(inverse_words=300, curvature_probes=100, iterations=10)
    monkeypatch.setitem(PRESETS, "fast", small)
    done = rarewords("ota", "eval", "--words", 6, "--iterations", 10, "--out", tmp_path, "--device", "cpu")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"curves.{ending}" for ending in ("csv", "json", "md", "png", "svg")
    ]
    assert "| iteration | static | random | fast |" in done.stdout
    assert "two-sided binomial test" in done.stdout
    curves = json.loads((tmp_path / "curves.json").read_text())["curves"]
    assert curves["fast"]["distances"][-1] < curves["random"]["distances"][-1]

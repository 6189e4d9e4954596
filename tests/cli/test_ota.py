"""``rarewords ota`` as a user calls it."""

import json

import pytest

from rarewords.vectors import WordVectors
from tests.cli.run import rarewords, refused


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("kumquat\nlime\nkumquat\nred panda\n")
    return path


def test_vectors_and_refused_words(words, tmp_path):
    out = tmp_path / "v.safetensors"
    done = rarewords("ota", "--words", words, "--out", out, "--method", "avg", "--device", "cpu")
    vectors = WordVectors.load(out)
    assert list(vectors.words) == ["kumquat", "red panda"]
    assert vectors.settings["method"] == "avg"
    assert "2 vectors, 1 words refused" in done.stdout
    assert "lime: is already one piece" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v.safetensors", "words.txt"]


def test_options_reach_the_settings_and_json_is_json(words, tmp_path):
    out, file = tmp_path / "v.safetensors", tmp_path / "ota.toml"
    file.write_text('start = "mean"\nlayers = [0, 1, 2]\nsteps = 9\nframe = "masked"\nseed = 3\n')
    options = ["--preset", "paper", "--settings", file, "--steps", 2]
    done = rarewords("ota", "--words", words, "--out", out, *options, "--keep-single", "--json")
    result = json.loads(done.stdout)
    assert (result["words"], result["refused"]) == (3, {})
    assert WordVectors.load(out).settings["ota"] == {
        "frame": "masked",
        "start": "mean",
        "layers": [0, 1, 2],
        "steps": 2,
        "rate": 1e-3,
        "newton": False,
        "balanced": False,
        "seed": 3,
        "search": 3,
    }
    assert not (tmp_path / ".v.safetensors.work").exists()


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (["--preset", "slow"], "preset must be one of fast, paper"),
        (["--method", "best"], "method must be one of ota, first"),
        (["--steps", "0"], "--steps"),
        (["--method", "avg", "--steps", "3"], "--steps has no effect with --method avg"),
        (["--method", "first", "--preset", "fast"], "--preset has no effect with --method first"),
    ],
)
def test_mistakes_are_one_line(words, tmp_path, options, part):
    assert part in refused("ota", "--words", words, "--out", tmp_path / "v.safetensors", *options)
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("speed = 3", "unknown setting 'speed'"),
        ("frame = 'round'", "frame must be one of static"),
        ("layers = [13]", "12 layers, so there is no layer 13"),
    ],
)
def test_mistakes_in_the_settings_file_are_one_line(words, tmp_path, text, part):
    file = tmp_path / "ota.toml"
    file.write_text(text)
    assert part in refused("ota", "--words", words, "--out", tmp_path / "v", "--settings", file)


def test_a_file_without_words_to_approximate_is_refused(tmp_path):
    (tmp_path / "known.txt").write_text("lime\n")
    said = refused("ota", "--words", tmp_path / "known.txt", "--out", tmp_path / "v")
    assert "none of the 1 words could be given a vector; 'lime': is already one piece" in said
    (tmp_path / "none.txt").write_text("\n\n")
    assert "holds no words" in refused("ota", "--words", tmp_path / "none.txt", "--out", tmp_path / "v")

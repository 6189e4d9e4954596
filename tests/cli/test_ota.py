"""``rarewords ota`` as a user calls it."""

import pytest

from rarewords.embeddings import WordEmbeddings
from tests.cli.run import rarewords, refused


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("kumquat\nlime\nkumquat\nred panda\n")
    return path


def test_embeddings_and_skipped_words(words, tmp_path):
    out = tmp_path / "v.safetensors"
    done = rarewords("ota", "--words", words, "--out", out, "--preset", "paper", "--steps", 1)
    embeddings = WordEmbeddings.load(out)
    assert list(embeddings.words) == ["kumquat", "red panda"]
    assert embeddings.settings["method"] == "ota"
    assert "2 embeddings, 1 words skipped" in done.stdout
    assert "lime: is already one subword" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["v.safetensors", "words.txt"]


def test_options_reach_the_settings(words, tmp_path):
    out, file = tmp_path / "v.safetensors", tmp_path / "ota.toml"
    file.write_text('start = "mean"\nlayers = [0, 1, 2]\nsteps = 9\nframe = "masked"\nseed = 3\n')
    options = ["--preset", "paper", "--settings", file, "--steps", 2]
    rarewords("ota", "--words", words, "--out", out, *options)
    assert WordEmbeddings.load(out).settings["ota"] == {
        "frame": "masked",
        "start": "mean",
        "layers": [0, 1, 2],
        "steps": 2,
        "rate": 1e-3,
        "newton": False,
        "balanced": False,
        "seed": 3,
    }
    assert not (tmp_path / ".v.safetensors.work").exists()


@pytest.mark.parametrize(("options", "code"), [(["--preset", "slow"], "settings"), (["--set", "steps"], "settings")])
def test_mistakes_are_one_line_and_leave_nothing(words, tmp_path, options, code):
    refused(code, "ota", "--words", words, "--out", tmp_path / "v.safetensors", *options)
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]


@pytest.mark.parametrize(
    ("text", "code"), [("speed = 3", "settings"), ("frame = 'round'", "settings"), ("layers = [13]", "ota")]
)
def test_mistakes_in_the_settings_file_are_one_line(words, tmp_path, text, code):
    file = tmp_path / "ota.toml"
    file.write_text(text)
    refused(code, "ota", "--words", words, "--out", tmp_path / "v", "--settings", file)


def test_a_file_without_words_to_approximate_is_refused(tmp_path):
    (tmp_path / "known.txt").write_text("lime\n")
    said = refused("nothing-to-teach", "ota", "--words", tmp_path / "known.txt", "--out", tmp_path / "v")
    assert "none of the 1 words could be given an embedding; 'lime': is already one subword" in said
    (tmp_path / "none.txt").write_text("\n\n")
    refused("no-text", "ota", "--words", tmp_path / "none.txt", "--out", tmp_path / "v")

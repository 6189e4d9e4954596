"""``rarewords mimic train``."""

import json

import pytest

from rarewords.embeddings import WordEmbeddings
from rarewords.mimic.attentive import AttentiveMimicking
from tests.cli.run import rarewords, refused


@pytest.fixture
def options(corpus, tmp_path):
    (tmp_path / "few.toml").write_text("min_count = 300\ncopies_max = 1\nscale = 1.2\nseed = 3\n")
    train = ["-q", "mimic", "train", "--corpus", corpus.path, "--out", tmp_path / "mimic", "--set", "epochs=1"]
    return [*train, "--settings", tmp_path / "few.toml"]


def test_it_trains_what_infer_can_use(options, corpus, tmp_path):
    with (tmp_path / "few.toml").open("a") as settings:
        settings.write("held_out = 0.1\n")
    rarewords(*options)
    found = json.loads((tmp_path / "mimic" / "config.json").read_text("utf-8"))
    settings = found["settings"]
    assert (settings["held_out"], settings["form"], settings["scale"], settings["seed"]) == (0.1, True, 1.2, 3)
    assert (settings["contexts_min"], settings["epochs"], len(found["history"])) == (8, 1, 1)
    assert not list(tmp_path.glob(".mimic*"))  # nothing is left of the work folder
    (tmp_path / "words.txt").write_text("city\nqzxqzx\n")
    out = tmp_path / "v.safetensors"
    infer = ["-q", "mimic", "infer", "--learner", tmp_path / "mimic", "--words", tmp_path / "words.txt"]
    done = rarewords(*infer, "--corpus", corpus.path, "--out", out)
    assert "qzxqzx: no context" in done.stderr
    assert list(WordEmbeddings.load(out)) == ["city"]
    assert WordEmbeddings.load(out).settings["mimic"]["scale"] == 1.2


def test_a_training_interrupted_before_it_is_saved_is_not_repeated(options, tmp_path, monkeypatch):
    monkeypatch.setattr(AttentiveMimicking, "save_pretrained", _interrupt)
    rarewords(*options, code=130)
    (checkpoint,) = (tmp_path / ".mimic.work").glob("training-*.pt")
    trained = checkpoint.stat().st_mtime_ns
    rarewords(*options, code=130)
    assert checkpoint.stat().st_mtime_ns == trained
    monkeypatch.undo()
    assert "trained, epoch 1" in rarewords(*options).stdout
    assert not (tmp_path / ".mimic.work").exists()


def test_a_seed_of_zero_wins_over_the_settings_file_and_a_training_without_targets_says_so(options, tmp_path):
    done = rarewords(*options[1:], "--set", "seed=0")  # not quiet
    assert json.loads((tmp_path / "mimic" / "config.json").read_text("utf-8"))["settings"]["seed"] == 0
    assert "No --targets: learning from words of one subword only" in done.stderr.splitlines()


def _interrupt(*_, **__):
    raise KeyboardInterrupt


def test_mistakes_are_named(options, corpus, tmp_path):
    refused("settings", *options, "--preset", "am+")
    refused("settings", *options, "--set", "colour=1")
    (tmp_path / "few.toml").write_text("form = false\ncontext = false\n")
    refused("settings", *options)
    (tmp_path / "few.toml").write_text("colour = 1\n")
    refused("settings", *options)
    (tmp_path / "few.toml").write_text("")
    (tmp_path / "mimic").mkdir()
    (tmp_path / "mimic" / "x").write_text("")
    refused("output", *options)
    infer = ["-q", "mimic", "infer", "--learner", tmp_path, "--words", tmp_path / "mimic" / "x"]
    (tmp_path / "mimic" / "x").write_text("kumquat\n")
    refused("learner", *infer, "--corpus", corpus.path, "--out", tmp_path / "v")

"""Model folders are untrusted: a bad one is refused in one line, and nothing outside it is touched."""

import io
import json
import os
import shutil
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from rarewords import LanguageModel, WordEmbeddings, affected, forget, inject
from rarewords.injection.forget import taught_words
from rarewords.injection.inject import inject_folder, save_folder
from tests.architectures import sentence_transformer, small_model
from tests.cli.run import rarewords, refused
from tests.errors import refused_with
from tests.fuzz.bench import peak_memory
from tests.fuzz.folders import causal_folder, encoder_folder, masked_folder

WORDS = ("kumquat", "salsify")


def embeddings_for(words, dim):
    numbers = np.random.default_rng(0).standard_normal((len(words), dim)).astype(np.float32) * 0.05
    return WordEmbeddings(words, numbers)


def contents(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return sentence_transformer(tmp_path_factory.mktemp("encoder") / "encoder", layers=1)


@pytest.fixture(scope="module", params=["append", "replace"])
def taught(tmp_path_factory, request):
    """A small model that was taught two words, with its report."""
    folder = tmp_path_factory.mktemp("taught") / "taught"
    model, tokenizer = small_model("bert")
    embeddings = embeddings_for(WORDS, LanguageModel(model, tokenizer).dim)
    inject(model, tokenizer, embeddings, placement=request.param)
    words = [{"word": word, "count": 1, "verdict": "better"} for word in WORDS]
    report = {"learner": "none", "model": "small", "settings": {}, "words": words, "earlier": []}
    save_folder(model, tokenizer, folder, base="small", card="# taught", report=report)
    return folder


@pytest.fixture
def copy(taught, tmp_path):
    return shutil.copytree(taught, tmp_path / "t")


def change(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **values}), "utf-8")


# Nothing outside the output is written


@pytest.mark.parametrize("path", ["../victim", "ABSOLUTE", "link", "a/../../victim", "\0", 5])
def test_a_module_outside_the_folder_is_refused(path, encoder, tmp_path):
    model, victim = shutil.copytree(encoder, tmp_path / "s"), shutil.copytree(encoder, tmp_path / "victim")
    if path == "link":
        (model / "link").symlink_to(victim)
    modules = json.loads((model / "modules.json").read_text("utf-8"))
    modules[0]["path"] = str(victim) if path == "ABSOLUTE" else path
    (model / "modules.json").write_text(json.dumps(modules), "utf-8")
    before = contents(tmp_path)
    with refused_with("damaged" if path == 5 else "model-folder"):
        inject_folder(model, embeddings_for(WORDS, 384), tmp_path / "out")
    assert contents(tmp_path) == before
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("target", "code"),
    [(one, "model-folder") for one in ("..", ".", "1_Pooling", "../secret", "../secret/file")]
    + [("missing", "unreadable"), ("sub", "unreadable")],
)
def test_a_link_that_leaves_the_folder_or_loops_is_refused(target, code, encoder, tmp_path):
    model = shutil.copytree(encoder, tmp_path / "s")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "file").write_text("secret")
    (model / "sub").symlink_to(target)
    with refused_with(code):
        inject_folder(model, embeddings_for(WORDS, 384), tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s", "secret"]


def test_a_download_in_the_cache_of_the_hub_is_a_folder_of_links_and_works(encoder, tmp_path):
    snapshot, blobs = tmp_path / "snapshots" / "0123", tmp_path / "blobs"
    shutil.copytree(encoder, blobs)
    for number, file in enumerate(sorted(path for path in blobs.rglob("*") if path.is_file())):
        link = snapshot / file.relative_to(blobs)
        link.parent.mkdir(parents=True, exist_ok=True)
        file.rename(blobs / f"blob{number}")
        link.symlink_to(os.path.relpath(blobs / f"blob{number}", link.parent))
    inject_folder(snapshot, embeddings_for(WORDS, 384), tmp_path / "out")
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))
    assert (tmp_path / "out" / "1_Pooling" / "config.json").read_bytes()


def test_an_output_inside_the_model_folder_is_refused(encoder):
    before = contents(encoder)
    with refused_with("output"):
        inject_folder(encoder, embeddings_for(WORDS, 384), encoder / "out")
    assert contents(encoder) == before


# What forget and affected rely on


@pytest.mark.parametrize("name", ["rarewords_rows", "rarewords_first_token"])
@pytest.mark.parametrize("value", [0, 1, -1, 100, 2999, 10**9, 2**70, "5", 1.5, None, True, [], {}])
def test_forget_refuses_a_config_that_contradicts_the_model(name, value, copy, tmp_path):
    config = json.loads((copy / "config.json").read_text("utf-8"))
    if config[name] == value:
        pytest.skip("the true value")
    change(copy / "config.json", **{name: value})
    positive = type(value) is int and 0 < value < 2**31  # otherwise the folder is refused before the model is loaded
    command = ("forget", copy, "kumquat", "--out", tmp_path / "out")
    assert "config.json" in refused("word" if positive else "model-folder", *command)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["rarewords_rows", "rarewords_first_token"])
def test_forget_refuses_a_config_without_one_of_its_numbers(name, copy, tmp_path):
    config = json.loads((copy / "config.json").read_text("utf-8"))
    del config[name]
    (copy / "config.json").write_text(json.dumps(config), "utf-8")
    with refused_with("word"):
        forget(copy, ["kumquat"], tmp_path / "out")


def test_forget_adds_no_report_to_a_folder_without_one(copy, tmp_path):
    (copy / "teaching.json").unlink()
    assert forget(copy, ["kumquat"], tmp_path / "out") == ["salsify"]
    assert not (tmp_path / "out" / "teaching.json").exists()


@pytest.mark.parametrize("harm", ["replaced", "without its config"])
def test_affected_says_that_the_tokenizer_does_not_match_the_report(harm, copy):
    rules = "/" in json.dumps(json.loads((copy / "tokenizer.json").read_text("utf-8"))["normalizer"])
    if harm == "replaced":
        small_model("bert")[1].save_pretrained(copy)
    else:
        change(copy / "config.json", model_type="bert")
        (copy / "tokenizer_config.json").unlink()
    if harm != "replaced" and not rules:  # the words are tokens still
        assert list(affected(copy, [(0, "a kumquat")])) == [(0, ("kumquat",))]
        return
    with refused_with("word"):
        list(affected(copy, [(0, "a kumquat")]))


def test_affected_finds_words_that_were_injected_into_a_taught_folder(tmp_path):
    masked = masked_folder(tmp_path / "masked")
    (tmp_path / "terms.csv").write_text("term,definition\nkumquat,a small fruit\n")
    rarewords(
        *("-q", "teach", "--glossary", tmp_path / "terms.csv", "--model", encoder_folder(tmp_path / "encoder")),
        *("--reader-model", masked, "--set", "keep_all=true", "--out", tmp_path / "t"),
    )
    inject_folder(tmp_path / "t", embeddings_for(["salsify"], 32), tmp_path / "both")
    assert (tmp_path / "both" / "teaching.json").exists()
    found = affected(tmp_path / "both", [(0, "a kumquat"), (1, "a salsify"), (2, "a plum")])
    assert list(found) == [(0, ("kumquat",)), (1, ("salsify",))]


def test_an_id_cannot_write_to_the_terminal(taught, tmp_path):
    lines = [json.dumps({"id": "a\x1b[2Jb\n\x9b", "text": "A kumquat."})]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    shown = rarewords("affected", "--model", taught, tmp_path / "d.jsonl", "--id", "id").stdout
    assert shown == "a\\x1b[2Jb\\n\\x9b\tkumquat\n"


def test_affected_reads_standard_input(taught, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Nothing.\nA kumquat.\n")))
    assert rarewords("affected", "--model", taught, "-").stdout == "-:2\tkumquat\n"


# Files of the wrong shape

_DAMAGED_REPORTS = {
    "number": 5, "list": [], "null": None, "text": "x", "earlier null": {"learner": "x", "earlier": None},
    "earlier of numbers": {"learner": "x", "earlier": [5]},
    "words": {"learner": "x", "words": 5}, "word": {"learner": "x", "words": [5]},
    "no count": {"learner": "x", "words": [{"word": "kumquat", "verdict": "better"}]},
    "no word": {"learner": "x", "words": [{"count": 1, "verdict": "better"}]},
    "no learner": {"words": [{"word": "kumquat", "count": 1, "verdict": "better"}]},
    "settings": {"learner": "x", "settings": []}, "model": {"learner": "x", "model": 5},
    "forms": {"learner": "x", "words": [{"word": "kumquat", "count": 1, "verdict": "better", "forms": 5}]},
    "form": {"learner": "x", "words": [{"word": "kumquat", "count": 1, "verdict": "better", "forms": [5]}]},
}  # fmt: skip


@pytest.mark.parametrize("name", _DAMAGED_REPORTS)
def test_a_damaged_report_is_one_line(name, copy, tmp_path):
    (copy / "teaching.json").write_text(json.dumps(_DAMAGED_REPORTS[name]), "utf-8")
    for command in (("words", copy), ("forget", copy, "kumquat", "--out", tmp_path / "out")):
        assert "teaching.json" in refused("damaged", *command)


def test_a_report_that_a_new_card_cannot_list_is_refused_before_any_work(copy, tmp_path, monkeypatch):
    monkeypatch.setattr("rarewords.teaching.prepare.open_corpus", lambda *_: pytest.fail("this is work"))
    given = ("--glossary", tmp_path / "terms.csv", "--model", copy, "--out", tmp_path / "out")
    (tmp_path / "terms.csv").write_text("term,definition\nsorrel,a herb\n")
    assert "it has no contexts" in refused("damaged", "teach", *given)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", [[], 5, None, "x"])
def test_a_damaged_pooling_config_is_refused_before_any_work(value, encoder, tmp_path):
    model = shutil.copytree(encoder, tmp_path / "s")
    (model / "1_Pooling" / "config.json").write_text(json.dumps(value), "utf-8")
    with refused_with("damaged") as caught:
        taught_words(model)
    assert "1_Pooling" in str(caught.value)


@pytest.mark.parametrize("file", ["1_Pooling/config.json", "tokenizer.json", "modules.json"])
def test_an_unreadable_encoder_leaves_no_work_folder(file, encoder, tmp_path):
    model, terms = shutil.copytree(encoder, tmp_path / "s"), tmp_path / "terms.csv"
    (model / file).write_text("5")
    terms.write_text("term,definition\nkumquat,a small fruit\n")
    rarewords("teach", "--glossary", terms, "--model", model, "--out", tmp_path / "a" / "out", code=2)
    assert sorted(tmp_path.iterdir()) == [model, terms]


@pytest.mark.parametrize("value", [0, -1, "2", 1.5])
def test_a_model_without_layers_is_refused(value, copy):
    change(copy / "config.json", num_hidden_layers=value)
    assert "num_hidden_layers" in refused("model-folder", "ask", "--model", copy, "a _ .")


# What does not fit together is refused when the model is loaded, before any work


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    return causal_folder(tmp_path_factory.mktemp("causal") / "causal")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers_are_refused(value, copy):
    tensors = load_file(copy / "model.safetensors")
    name = "bert.encoder.layer.1.output.dense.weight"
    tensors[name] = tensors[name].copy()
    tensors[name][3, 5] = value
    save_file(tensors, copy / "model.safetensors", {"format": "pt"})
    assert name in refused("damaged", "ask", "--model", copy, "a _ .")


@pytest.mark.parametrize(("value", "code"), [(np.nan, "model"), (1e308, "embeddings")])
def test_a_config_that_makes_nan_is_refused_and_leaves_nothing(value, code, tmp_path):
    model, words = masked_folder(tmp_path / "model"), tmp_path / "words.txt"
    words.write_text("kumquat\nsalsify\n")
    change(model / "config.json", layer_norm_eps=value)
    refused(code, "ota", "--words", words, "--model", model, "--out", tmp_path / "out", "--steps", 1)
    assert sorted(tmp_path.iterdir()) == [model, words]


def test_a_token_without_an_embedding_is_refused(copy):
    tokenizer = json.loads((copy / "tokenizer.json").read_text("utf-8"))
    tokenizer["model"]["vocab"]["plum"] = 5000
    (copy / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    assert "5000" in refused("model", "ask", "--model", copy, "a _ .")


def test_two_tokens_of_one_id_are_refused(causal, tmp_path):
    model = shutil.copytree(causal, tmp_path / "m")
    tokenizer = json.loads((model / "tokenizer.json").read_text("utf-8"))
    tokenizer["model"]["vocab"]["A"] = 0
    (model / "tokenizer.json").write_text(json.dumps(tokenizer), "utf-8")
    with refused_with("model") as caught:
        inject_folder(model, embeddings_for(WORDS, 32), tmp_path / "out")
    assert "two tokens" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    {
        "intermediate_size": 10**9, "max_position_embeddings": 2**40, "num_hidden_layers": 10**5,
        "num_labels": 10**9, "architectures": [None],
    }.items(),
)  # fmt: skip
def test_a_config_of_a_much_larger_model_takes_no_memory(name, value, copy):
    change(copy / "config.json", **{name: value})
    before = peak_memory()
    refused("model-folder", "ask", "--model", copy, "a _ .")
    assert peak_memory() - before < 1 << 28


@pytest.mark.parametrize("file", ["../victim.safetensors", "/etc/hostname", 5, None])
def test_weights_outside_the_folder_are_refused(file, causal, tmp_path):
    model = shutil.copytree(causal, tmp_path / "m")
    index = model / "model.safetensors.index.json"
    weights = json.loads(index.read_text("utf-8"))["weight_map"]
    change(index, weight_map=dict.fromkeys(weights, file))
    with refused_with("model-folder"):
        inject_folder(model, embeddings_for(WORDS, 32), tmp_path / "out")


@pytest.mark.parametrize("change_", [{"temperature": 0.5, "do_sample": False}, {"suppress_tokens": "x"}])
def test_generation_settings_that_cannot_be_saved_are_refused_at_once(change_, causal, tmp_path):
    model = shutil.copytree(causal, tmp_path / "m")
    change(model / "generation_config.json", **change_)
    with refused_with("model") as caught:
        inject_folder(model, embeddings_for(WORDS, 32), tmp_path / "out")
    assert "generation_config.json" in str(caught.value)


@pytest.mark.slow
def test_words_that_are_each_a_prefix_of_the_next_are_taken_or_refused():
    model, tokenizer = small_model("bert")
    words = ["z" + "q" * length for length in range(1, 1598)]
    with refused_with("word"):
        inject(model, tokenizer, embeddings_for(words, 32), placement="append")
    inject(model, tokenizer, embeddings_for(words[:40], 32), placement="append")
    assert tokenizer.tokenize(words[30])[-1] == f"ᐸ{words[30]}ᐳ"


# An output is checked before any work


@pytest.mark.parametrize("out", ["/", "folder", "file/x", "n" * 300])
@pytest.mark.parametrize("command", ["ota", "inject", "forget", "corpus build", "mimic fit", "wnlampro eval"])
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_read(command, out, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "other").touch()
    (tmp_path / "file").touch()
    before = sorted(tmp_path.rglob("*"))
    missing, target = tmp_path / "missing", tmp_path / out
    arguments = {
        "ota": ("--words", missing),
        "inject": ("--embeddings", missing),
        "forget": (missing, "kumquat"),
        "corpus build": (missing,),
        "mimic fit": ("--corpus", missing),
        "wnlampro eval": ("--data", missing),
    }
    refused("output", *command.split(), *arguments[command], "--out", target)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_command_that_fails_leaves_no_new_folders(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    refused("no-text", "corpus", "build", "-", "--out", tmp_path / "a" / "b" / "corpus")
    assert list(tmp_path.iterdir()) == []

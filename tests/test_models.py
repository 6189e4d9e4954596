"""The bundled model in the cache: unpacked once, by whoever comes first, and repaired when damaged.

Names on the hub: one quick request, one line if there is no such model, and the hub's cache without a
connection.
"""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch

from rarewords._internal.files import file_digest
from rarewords.models import (
    BUNDLED_NAME,
    bundled_model,
    cache_folder,
    choose_device,
    load_pretrained,
    model_kind,
    shown_name,
)
from tests.architectures import sentence_transformer, small_causal, small_model
from tests.errors import refused_with


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_folder_is_an_ordinary_model_folder_unpacked_once(cache):
    folder = bundled_model()
    assert folder.parent.parent == cache
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= {p.name for p in folder.iterdir()}
    made = (folder / "model.safetensors").stat().st_mtime_ns
    assert bundled_model() == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == made
    model, tokenizer = load_pretrained()
    assert model.config.vocab_size == len(tokenizer) == 30522


@pytest.fixture(scope="module")
def repaired(tmp_path_factory):
    """A cache that every damage is done to in turn: to unpack the model takes seconds."""
    return tmp_path_factory.mktemp("repaired")


@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "empty"])
def test_a_damaged_folder_is_repaired(harm, repaired, monkeypatch):
    monkeypatch.setenv("RAREWORDS_CACHE", str(repaired))
    folder = bundled_model()
    weights = folder / "model.safetensors"
    good = file_digest(weights)
    if harm == "flip":
        content = bytearray(weights.read_bytes())
        content[len(content) // 2] ^= 1
        weights.write_bytes(content)
    elif harm == "cut":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif harm == "remove":
        (folder / "tokenizer.json").unlink()
    else:
        for path in folder.iterdir():
            path.unlink()
    assert bundled_model() == folder
    assert file_digest(weights) == good
    assert (folder / "tokenizer.json").is_file()
    leftovers = [path.name for path in folder.parent.iterdir() if path.suffix in (".part", ".old")]
    assert leftovers == []


@pytest.mark.slow
def test_three_processes_at_once_all_get_a_whole_model(cache):
    code = (
        "from rarewords.models import bundled_model; from rarewords._internal.files import file_digest\n"
        "print(file_digest(bundled_model() / 'model.safetensors'))"
    )
    environment = {"RAREWORDS_CACHE": str(cache), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}

    def start(_):
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)

    with ThreadPoolExecutor(3) as pool:
        digests = {done.stdout.strip() for done in pool.map(start, range(3))}
    assert len(digests) == 1
    assert digests == {file_digest(bundled_model() / "model.safetensors")}


def test_a_cache_that_cannot_be_written_is_explained(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path / "file" / "cache"))
    with refused_with("output") as caught:
        bundled_model()
    assert "RAREWORDS_CACHE" in str(caught.value)


def test_the_cache_is_in_the_folder_of_hugging_face_unless_told_otherwise(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "hf"))
    monkeypatch.delenv("RAREWORDS_CACHE", raising=False)
    assert cache_folder() == tmp_path / "hf" / "rarewords"
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_a_shown_name_has_no_path(tmp_path):
    (tmp_path / "mine").mkdir()
    names = ("default", tmp_path / "mine", "org/model")
    assert [shown_name(name) for name in names] == [BUNDLED_NAME, "mine", "org/model"]


def test_the_packed_weights_are_within_rounding_of_the_unpacked(lm):
    # Each row of a packed matrix has 8 bits and a scale, so its largest entry is at most 127 scales.
    matrix = lm.embeddings
    assert matrix.shape == (30522, 384)
    steps = matrix / (matrix.abs().amax(1, keepdim=True).clamp_min(1e-9) / 127)
    assert torch.isclose(steps, steps.round(), atol=0.05).float().mean() > 0.99


def test_a_device_that_the_machine_does_not_have_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert choose_device("cuda:1") == torch.device("cuda:1")
    with refused_with("device"):
        choose_device("cuda:2")


@pytest.mark.parametrize("damage", ["config", "weights", "tokenizer", "head"])
def test_a_damaged_model_folder_is_refused(damage, tmp_path):
    model, tokenizer = small_model("bert")
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    if damage == "config":
        config = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps({**config, "hidden_size": 33}))
    elif damage == "weights":
        weights = tmp_path / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:5000])
    elif damage == "tokenizer":
        (tmp_path / "tokenizer.json").write_text("{}")
    else:  # it says that it is a masked LM, and has the weights of an encoder
        architectures = model.config.architectures
        model.base_model.save_pretrained(tmp_path)
        config = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps({**config, "architectures": architectures}))
    with refused_with("model-kind" if damage == "head" else "model"):
        load_pretrained(tmp_path)


# Names on the hub

NOWHERE = "http://127.0.0.1:9"  # nothing listens there


def run(home, endpoint, *arguments):
    """Run Python with a hub at ``endpoint``."""
    hub = {"HF_HOME": str(home), "HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "0"}
    hub["TRANSFORMERS_VERBOSITY"] = "error"  # as the command line has it
    if "RAREWORDS_CACHE" not in os.environ:  # otherwise it would unpack the bundled model once more
        hub["RAREWORDS_CACHE"] = str(cache_folder())
    return subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **hub}, capture_output=True, text=True, check=False
    )


TIMED = """
import time
import rarewords.lm  # imports take seconds on a busy machine
from rarewords.cli.app import main
began = time.perf_counter()
try:
    main()
finally:
    print(time.perf_counter() - began)
"""


def ask(model, home, endpoint, program=("-m", "rarewords")):
    return run(home, endpoint, *program, "ask", "--model", model, "the river is _ .")


def in_hub_cache(home, name, save):
    """Lay a model into the hub's cache as a download does: a snapshot of links to blobs."""
    cached = home / "hub" / f"models--{name.replace('/', '--')}"
    snapshot, blobs = cached / "snapshots" / "1234", cached / "blobs"
    blobs.mkdir(parents=True)
    save(snapshot)
    for number, file in enumerate(sorted(path for path in snapshot.rglob("*") if path.is_file())):
        file.rename(blobs / f"blob{number}")
        file.symlink_to(os.path.relpath(blobs / f"blob{number}", file.parent))
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("1234")


def saver(model, tokenizer):
    def save(folder):
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)

    return save


@pytest.fixture
def empty_hub():
    """A server that knows no model, and says so as the hub does."""

    class Nothing(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Nothing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def refused(done):
    """Whether a run was refused in one line because there is no such model."""
    return (done.returncode, done.stderr.count("\n")) == (2, 1) and done.stderr.endswith(" [model-not-found]\n")


@pytest.mark.slow
def test_without_a_connection_an_unknown_name_is_one_line_at_once(tmp_path):
    done = ask("some-org/causal-model", tmp_path, NOWHERE, ("-c", TIMED))
    assert refused(done), done.stderr
    assert "the connection" in done.stderr
    assert float(done.stdout) < 15  # the hub's library alone waits for 23 seconds


@pytest.mark.slow
def test_a_name_that_the_hub_does_not_have_is_one_line(tmp_path, empty_hub):
    done = ask("some-org/causal-model", tmp_path, empty_hub)
    assert refused(done), done.stderr
    assert "the connection" not in done.stderr


@pytest.mark.slow
def test_without_a_connection_a_model_in_the_cache_answers(tmp_path):
    in_hub_cache(tmp_path, "some-org/small", saver(*small_model("bert")))
    done = ask("some-org/small", tmp_path, NOWHERE)
    assert (done.returncode, done.stderr) == (0, "")  # the hub's library would say that it tries again
    assert done.stdout.startswith("the river is _ .  ->  ")


LOAD = """
import json, sys
import numpy as np
from rarewords import LanguageModel, WordEmbeddings
from rarewords.injection.inject import inject_folder
for name in sys.argv[2:]:
    lm = LanguageModel.from_pretrained(name)
    print(json.dumps([lm.name, lm.kind, lm.pooling]))
    embeddings = WordEmbeddings(["kumquat"], np.full((1, lm.dim), 0.05, np.float32))
    inject_folder(name, embeddings, f"{sys.argv[1]}/{name.split('/')[-1]}")
"""


@pytest.mark.slow
def test_encoders_and_causal_lms_are_taken_by_their_names_on_the_hub(tmp_path):
    def encoder(folder):
        sentence_transformer(folder, layers=1)
        pooling = json.dumps({"pooling_mode_cls_token": True})
        (folder / "1_Pooling" / "config.json").write_text(pooling)

    masked, tokenizer = small_model("distilbert")
    in_hub_cache(tmp_path, "some-org/encoder", encoder)
    in_hub_cache(tmp_path, "some-org/causal", saver(*small_causal("gpt2")))
    in_hub_cache(tmp_path, "bare", saver(masked.base_model, tokenizer))
    expected = [
        ["some-org/encoder", "encoder", "cls"],
        ["some-org/causal", "causal", "mean"],
        ["bare", "encoder", "mean"],
    ]
    out = tmp_path / "out"
    done = run(tmp_path, NOWHERE, "-c", LOAD, out, *(name for name, _, _ in expected))
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line) for line in done.stdout.splitlines()] == expected
    # What is made of them is a folder of the same kind, without links into the cache.
    assert [model_kind(out / name) for name in ("encoder", "causal", "bare")] == ["encoder", "causal", "encoder"]
    assert not any(path.is_symlink() for path in out.rglob("*"))
    assert (out / "encoder" / "1_Pooling" / "config.json").is_file()

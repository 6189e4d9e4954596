"""The bundled model in the cache: made once, by whoever comes first, and mended when damaged.

Names on the hub: one quick request, one line if there is no such model, the cache without a connection.
"""

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch

from rarewords.errors import InputError
from rarewords.files import file_digest
from rarewords.models import bundled_model, choose_device, load_pretrained
from tests.architectures import small_model


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_folder_is_an_ordinary_model_folder_made_once(cache):
    folder = bundled_model()
    assert folder.parent.parent == cache
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= {
        p.name for p in folder.iterdir()
    }
    made = (folder / "model.safetensors").stat().st_mtime_ns
    assert bundled_model() == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == made
    model, tokenizer = load_pretrained()
    assert model.config.vocab_size == len(tokenizer) == 30522


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "empty"])
def test_a_damaged_folder_is_mended(harm):
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


def test_five_processes_at_once_all_get_a_whole_model(cache):
    code = (
        "from rarewords.models import bundled_model; from rarewords.files import file_digest\n"
        "print(file_digest(bundled_model() / 'model.safetensors'))"
    )
    environment = {"RAREWORDS_CACHE": str(cache), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}

    def start(_):
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )

    with ThreadPoolExecutor(5) as pool:
        digests = {done.stdout.strip() for done in pool.map(start, range(5))}
    assert len(digests) == 1
    assert digests == {file_digest(bundled_model() / "model.safetensors")}


def test_a_cache_that_cannot_be_written_is_explained(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(InputError, match="RAREWORDS_CACHE"):
        bundled_model()


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
    with pytest.raises(InputError, match="no device cuda:2 that PyTorch can use"):
        choose_device("cuda:2")


def ask(model, home, endpoint):
    """Run ``rarewords ask`` with a hub at ``endpoint``; what it says, and how long it took."""
    hub = {"HF_HOME": str(home), "HF_ENDPOINT": endpoint, "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-m", "rarewords", "ask", "--model", model, "the river is _ ."]
    began = time.perf_counter()
    done = subprocess.run(command, env={**os.environ, **hub}, capture_output=True, text=True, check=False)
    return done, time.perf_counter() - began


@pytest.fixture
def empty_hub():
    """A server that knows no model, and says so as the hub does."""

    class Nothing(BaseHTTPRequestHandler):
        def do_HEAD(self):
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Nothing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_without_a_connection_an_unknown_name_is_one_line_at_once(tmp_path):
    done, seconds = ask("some-org/causal-model", tmp_path, "http://127.0.0.1:9")
    assert done.returncode == 2
    assert done.stderr.startswith("rarewords: the model some-org/causal-model is neither a folder nor in ")
    assert "check the spelling and the connection" in done.stderr
    assert done.stderr.count("\n") == 1
    assert seconds < 20  # the hub's library alone waits for 23 seconds


def test_a_name_that_the_hub_does_not_have_is_one_line(tmp_path, empty_hub):
    done, _ = ask("some-org/causal-model", tmp_path, empty_hub)
    assert done.returncode == 2
    assert "is neither a folder nor on the hub; check the spelling" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_a_connection_a_model_in_the_cache_answers(tmp_path):
    cached = tmp_path / "hub" / "models--some-org--small"
    model, tokenizer = small_model("bert")
    model.save_pretrained(cached / "snapshots" / "1234")
    tokenizer.save_pretrained(cached / "snapshots" / "1234")
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("1234")
    done, seconds = ask("some-org/small", tmp_path, "http://127.0.0.1:9")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("the river is _ .  ->  ")
    assert seconds < 20

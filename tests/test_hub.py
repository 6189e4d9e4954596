"""Names on the hub: one quick request, one line if there is no such model, the cache without a connection."""

import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.architectures import small_model


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

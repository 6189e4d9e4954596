"""The server of `rarewords serve`: what it answers, what it refuses, and that nobody sees a traceback."""

import json
import re
import signal
import subprocess
import sys
import threading
from http.client import HTTPConnection

import pytest

from rarewords import LanguageModel
from rarewords.app.server import Server
from rarewords.app.study import LONGEST_SENTENCE, MOST_SENTENCES, Request, Study, samples
from rarewords.teaching.learners import open_learner
from tests.cli.run import refused

SENTENCES = [
    "He peeled a blimpet and ate it.",
    "A ripe blimpet is sweeter than a plum.",
    "We made blimpet jam.",
]


@pytest.fixture(scope="module")
def study(lm):
    return Study(lm, open_learner(lm)[0])


@pytest.fixture(scope="module")
def server(study):
    with Server(study, 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def ask(server, method, path, body=None, **headers):
    connection = HTTPConnection("127.0.0.1", server.server_address[1])
    if isinstance(body, dict | list):
        body = json.dumps(body)
        headers = {"Content-Type": "application/json", **headers}
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    return response, response.read().decode("utf-8")


def test_the_page_needs_nothing_from_elsewhere(server):
    for path in ("/", "/page.css", "/page.js"):
        response, body = ask(server, "GET", path)
        assert response.status == 200
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert re.findall(r"(?:https?:)?//[a-z]", body.replace("// ", "")) == []
        assert "innerHTML" not in body


def test_an_answer_holds_before_and_after_shares_weights_and_neighbours(server):
    sent = {"word": "Blimpet", "sentences": SENTENCES, "question": "you can eat a blimpet with _ ."}
    response, body = ask(server, "POST", "/api/study", sent)
    assert response.status == 200, body
    answer = json.loads(body)
    assert answer["word"] == "blimpet"
    assert len(answer["pieces"]) > 1
    assert answer["questions"][0]["question"] == "you can eat a blimpet with _ ."
    assert len(answer["questions"]) == 4
    for one in answer["questions"]:
        assert len(one["before"]) == len(one["after"]) == 6
        assert one["before"] != one["after"]
    assert 0 <= answer["context_share"] <= 1
    assert sum(one["weight"] for one in answer["sentences"]) == pytest.approx(1, abs=0.01)
    assert [one["sentence"] for one in answer["sentences"]] == SENTENCES
    assert len(answer["neighbours"]) == 10


def test_the_verdict_is_that_of_teaching_and_the_folder_is_saved_under_a_free_name(
    study, tmp_path, monkeypatch
):
    request = Request.parse({"word": "blimpet", "sentences": SENTENCES})
    found = study.judge(request)
    assert found["verdict"] in ("better", "unclear", "worse")
    assert "held-out gain" in found["reason"]
    one = study.judge(Request.parse({"word": "blimpet", "sentences": SENTENCES[:1]}))
    assert (one["verdict"], one["reason"]) == ("not judged", "type at least two sentences")
    monkeypatch.chdir(tmp_path)
    assert [study.save(request)["folder"] for _ in range(2)] == ["taught-blimpet", "taught-blimpet-1"]
    taught = LanguageModel.from_pretrained(tmp_path / "taught-blimpet-1")
    assert len(taught.tokenizer) == len(study.lm.tokenizer) + 1


def test_text_in_another_language_gets_neighbours_and_no_english_question(study):
    sentences = ["Der Eisvogel sitzt am Ufer.", "Im Winter findet der Eisvogel kein Wasser."]
    answer = study.answer(Request.parse({"word": "Eisvogel", "sentences": sentences}))
    assert answer["questions"] == []
    assert len(answer["neighbours"]) == 10


def test_the_same_question_gets_the_same_answer_from_many_visitors_at_once(server):
    sent = {"word": "blimpet", "sentences": SENTENCES}
    found = []

    def visit():
        answer = json.loads(ask(server, "POST", "/api/study", sent)[1])
        found.append({name: value for name, value in answer.items() if name != "seconds"})

    visitors = [threading.Thread(target=visit) for _ in range(4)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert len(found) == 4
    assert all(answer == found[0] for answer in found)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ([], "send an object"),
        ({"word": 3, "sentences": []}, "send an object"),
        ({"word": "blimpet", "sentences": [1]}, "all of them text"),
        ({"word": "", "sentences": SENTENCES}, "type one word"),
        ({"word": "two words", "sentences": SENTENCES}, "type one word"),
        ({"word": "<script>", "sentences": SENTENCES}, "type one word"),
        ({"word": "x" * 50, "sentences": SENTENCES}, "at most 40"),
        ({"word": "blimpet", "sentences": ["  "]}, "at least one sentence"),
        ({"word": "blimpet", "sentences": ["a plum"]}, "sentence 1 does not contain"),
        ({"word": "blimpet", "sentences": SENTENCES * 9}, f"at most {MOST_SENTENCES}"),
        ({"word": "blimpet", "sentences": ["blimpet " * 99]}, f"longer than {LONGEST_SENTENCE}"),
        ({"word": "blimpet", "sentences": SENTENCES, "question": "what is it?"}, "one _ for the blank"),
        ({"word": "blimpet", "sentences": SENTENCES, "question": "a blimpet [MASK] _ ."}, "blank as _"),
    ],
)
def test_what_cannot_be_answered_is_said_in_one_sentence(server, sent, said):
    response, body = ask(server, "POST", "/api/study", sent)
    assert response.status == 400
    assert said in json.loads(body)["error"]


def test_strange_requests_are_refused(server):
    post = ("POST", "/api/study")
    assert ask(server, *post, "{", Content_Type="application/json")[0].status == 400
    assert ask(server, *post, "word=x", Content_Type="application/x-www-form-urlencoded")[0].status == 415
    assert ask(server, *post, "x" * 70_000, Content_Type="application/json")[0].status == 413
    assert ask(server, "POST", "/api/samples", {})[0].status == 404
    assert ask(server, "GET", "/../pyproject.toml")[0].status == 404
    assert ask(server, "GET", "/api/study")[0].status == 404
    assert ask(server, "DELETE", "/")[0].status == 501


def test_the_address_that_is_shown_is_answered(server, monkeypatch):
    address = server.server_address
    for shown in (address, ("127.0.0.1", 80)):
        monkeypatch.setattr(server, "server_address", shown)
        connection = HTTPConnection(*address)
        host = server.url.removeprefix("http://").removesuffix("/").removesuffix(":80")
        connection.request("GET", "/", headers={"Host": host})
        assert connection.getresponse().status == 200
        connection.close()


def test_only_names_of_this_machine_are_answered(server):
    port = server.server_address[1]
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert ask(server, "GET", "/", Host=host)[0].status == 200
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", "localhost:1"):
        assert ask(server, "GET", "/api/samples", Host=host)[0].status == 403
    sent = {"word": "blimpet", "sentences": SENTENCES}
    assert ask(server, "POST", "/api/study", sent, Origin="http://evil.example")[0].status == 403
    assert ask(server, "POST", "/api/study", sent, Origin=f"http://127.0.0.1:{port}")[0].status == 200


def test_a_fault_is_logged_here_and_not_shown_there(server, monkeypatch, caplog):
    def fail(*_):
        raise RuntimeError("a secret of the machine")

    monkeypatch.setattr(server.study, "answer", fail)
    response, body = ask(server, "POST", "/api/study", {"word": "blimpet", "sentences": SENTENCES})
    assert response.status == 500
    assert "secret" not in body
    assert "Traceback" not in body
    assert "a secret of the machine" in caplog.text


def test_samples_are_ready_to_be_studied(server):
    sent = json.loads(ask(server, "GET", "/api/samples")[1])
    assert sent["model"] == "gte-mlm"
    assert len(sent["samples"]) >= 20
    assert sent["samples"] == samples()
    for sample in sent["samples"]:
        Request.parse(sample)


def test_other_machines_are_never_served(server):
    assert server.server_address[0] == "127.0.0.1"


def test_the_command_starts_and_ends_with_ctrl_c(server):
    command = [sys.executable, "-m", "rarewords", "serve", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    assert re.match(r"http://127\.0\.0\.1:\d+/ ", line), line or process.stderr.read()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out, err) == (0, "", "stopped\n")
    taken = refused("-q", "serve", "--port", server.server_address[1])
    assert "cannot be used" in taken

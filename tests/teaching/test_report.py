"""The taught model and its report: in memory, in a folder, on the hub."""

import base64
import json
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import numpy as np
import pytest
import torch
import transformers as hf
import yaml
from huggingface_hub import constants

from rarewords import LanguageModel, Query, TeachSettings, teach
from rarewords.teaching.check import CheckResult
from rarewords.teaching.report import WordReport
from tests.architectures import sentence_transformer, small_model
from tests.errors import refused_with
from tests.teaching.invented import sentences_of

WORDS = ["torvane", "yurla"]


@pytest.fixture(scope="module")
def texts():
    return sentences_of(*WORDS, most=4).splitlines()


@pytest.fixture(scope="module")
def taught(lm, texts):
    """The bundled model with two words."""
    return teach(lm, texts=texts, words=[*WORDS, "zzyzx"], settings=TeachSettings(keep_all=True))


@pytest.fixture(scope="module")
def small(texts):
    """A small model with two words."""
    return teach(LanguageModel(*small_model("bert")), texts=texts, words=WORDS, settings=TeachSettings(keep_all=True))


def report_on(word, gain, **changes):
    check = None if gain is None else CheckResult(4, 9, -4.0, -4.0 + gain, 0.1, 0.0)
    return WordReport(word, 4, 4, 0.8, ("a", "b"), ("c", "d"), check, **{"question": "<W> is _.", **changes})


# In memory


def test_model_and_tokenizer_work_in_a_pipeline(taught):
    fill = hf.pipeline("fill-mask", model=taught.model, tokenizer=taught.tokenizer, device="cpu")
    (one,) = [word for word in taught.words if word.word == "torvane"]
    sentence = one.question.replace("<W>", one.word).replace("_", fill.tokenizer.mask_token)
    assert tuple(answer["token_str"] for answer in fill(sentence, top_k=5)) == one.after


def test_the_taught_sentence_transformer_encodes_and_the_given_one_is_unchanged(texts, tmp_path):
    from sentence_transformers import SentenceTransformer

    given = SentenceTransformer(str(sentence_transformer(tmp_path / "mine")), device="cpu")
    plain, rare = "The ship sailed at dawn.", "He tuned his torvane."
    before = given.encode([plain, rare])
    settings = TeachSettings(keep_all=True)
    result = teach(given, texts=texts, words=["torvane"], settings=settings, device="cpu")
    assert isinstance(result.model, SentenceTransformer)
    assert [type(one).__name__ for one in result.model] == [type(one).__name__ for one in given]
    new, old = result.model.encode([plain, rare]), given.encode([plain, rare])
    assert np.array_equal(old, before)
    assert np.array_equal(new[0], before[0])
    assert not np.allclose(new[1], before[1], atol=1e-3)
    assert "torvane" not in given.tokenizer.get_vocab()
    assert result.base == "mine"
    assert result.model is result.model  # it is made once
    result.save_pretrained(tmp_path / "taught")
    again = SentenceTransformer(str(tmp_path / "taught"), device="cpu")
    assert np.array_equal(again.encode([plain, rare]), new)


def test_the_report_separates_taught_worse_and_skipped(taught):
    assert [one.word for one in taught.words] == WORDS
    assert taught.skipped.keys() == {"zzyzx"}
    assert sum(taught.verdicts.values()) == 2
    before, after = taught.held_out
    assert before == pytest.approx(np.mean([one.check.subwords for one in taught.words]))
    assert after == pytest.approx(np.mean([one.check.embedding for one in taught.words]))
    mixed = replace(
        taught,
        settings=TeachSettings(),
        words=(report_on("good", 0.4), report_on("bad", -0.4), report_on("once", None)),
    )
    assert [one.word for one in mixed.taught] == ["good", "once"]
    assert [one.word for one in mixed.worse] == ["bad"]
    assert mixed.verdicts == {"better": 1, "worse": 1, "not checked": 1}
    assert mixed.held_out == pytest.approx((-4.0, -3.6))  # of those that were added
    kept = replace(mixed, settings=TeachSettings(keep_all=True))
    assert [one.word for one in kept.taught] == ["good", "bad", "once"]


def test_the_json_holds_every_word_with_its_reason(taught):
    found = json.loads(json.dumps(taught.as_json()))
    assert [one["word"] for one in (*found["words"], *found["worse"])] == [
        one.word for one in (*taught.taught, *taught.worse)
    ]
    assert all(one["reason"].startswith("gain ") for one in found["words"])
    assert found["settings"]["keep_all"] is True
    assert (found["kind"], found["model"], found["learner"]) == ("masked", "gte-mlm", "default")
    assert found["skipped"] == taught.skipped


# In a folder


def test_the_folder_holds_the_model_in_memory_with_its_card_and_report(small, tmp_path):
    small.save_pretrained(tmp_path / "taught")
    loaded = LanguageModel.from_pretrained(tmp_path / "taught", device="cpu")
    assert torch.equal(loaded.embeddings, small.language_model.embeddings)
    query = [Query("a torvane is a _ .")]
    assert np.array_equal(loaded.fill(query).ids, small.language_model.fill(query).ids)
    report = json.loads((tmp_path / "taught" / "teaching.json").read_text("utf-8"))
    assert report == {**json.loads(json.dumps(small.as_json())), "earlier": []}
    assert (tmp_path / "taught" / "README.md").read_text("utf-8") == small.card()


def test_saving_the_language_model_keeps_the_report(small, tmp_path):
    small.language_model.save_pretrained(tmp_path / "taught")
    loaded = LanguageModel.from_pretrained(tmp_path / "taught", device="cpu")
    assert loaded.report == json.loads(json.dumps(small.report()))


def test_a_folder_that_is_not_free_is_refused(small, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with refused_with("output"):
        small.save_pretrained(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


# On the hub


@contextmanager
def hub():
    """A server that takes what the hub takes: a new repository, a branch, a commit."""
    calls, files = [], {}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            calls.append((self.path.split("?")[0], self.headers.get("Authorization")))
            answer = {}
            if self.path == "/api/repos/create":
                calls[-1] = (*calls[-1], json.loads(body))
                answer = {"url": f"{address}/me/{json.loads(body)['name']}"}
            elif self.path == "/api/validate-yaml":
                answer = {"errors": [], "warnings": []}
            elif "/preupload/" in self.path:
                paths = [one["path"] for one in json.loads(body)["files"]]
                answer["files"] = [{"path": one, "uploadMode": "regular", "shouldIgnore": False} for one in paths]
            elif "/commit/" in self.path:
                for line in map(json.loads, body.splitlines()):
                    if line["key"] == "file":
                        files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
                answer = {"success": True, "commitOid": "0" * 40, "commitUrl": f"{address}/me/taught/commit/{'0' * 40}"}
            raw = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, *_):
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "ENDPOINT", address)
        patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        patch.setattr(constants, "HF_HUB_OFFLINE", False)
        try:
            yield calls, files
        finally:
            server.shutdown()
            thread.join()
            server.server_close()


def test_push_to_hub_uploads_the_folder(small, tmp_path):
    small.save_pretrained(tmp_path / "taught")
    with hub() as (calls, files):
        address = small.push_to_hub("taught", token="hf_secret", private=True)
    assert address.startswith("http://127.0.0.1:")
    assert "/me/taught" in address
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "taught").iterdir()}
    assert {authorization for _, authorization, *_ in calls} == {"Bearer hf_secret"}
    (path, _, created), *_ = calls
    assert path == "/api/repos/create"
    assert created["name"] == "taught"
    assert created.get("private") is True or created["visibility"] == "private"
    assert [path for path, *_ in calls][-1] == "/api/models/me/taught/commit/main"


def test_push_to_hub_makes_the_revision_it_is_given(small):
    with hub() as (calls, files):
        small.push_to_hub("me/taught", token="hf_secret", revision="next", commit_message="More words")
    paths = [path for path, *_ in calls]
    assert "/api/models/me/taught/branch/next" in paths
    assert paths[-1] == "/api/models/me/taught/commit/next"
    assert "model.safetensors" in files


# The card


def test_the_card_has_metadata_the_figures_and_every_word(taught):
    _, header, text = taught.card().split("---\n", 2)
    data = yaml.safe_load(header)
    assert (data["library_name"], data["pipeline_tag"]) == ("transformers", "fill-mask")
    assert data["tags"] == ["rarewords"]
    (metric,) = data["model-index"][0]["results"][0]["metrics"]
    before, after = taught.held_out
    assert metric["value"] == pytest.approx(after - before, abs=1e-4)
    assert f"{before:.3f} with their subwords, {after:.3f} with their embeddings" in text
    for one in taught.taught:
        assert f"| {one.word} " in text
    assert "zzyzx" in text.split("## Skipped words")[1]


def test_a_bar_in_a_word_or_a_question_does_not_end_a_cell_of_the_card(taught):
    card = replace(taught, words=(report_on("tor|vane", 0.4, question="<W> | _"),)).card()
    assert r"| tor\|vane | `… \| _` |" in card


def test_the_card_says_which_words_are_worse_and_why(taught):
    words = (report_on("good", 0.4), report_on("bad", -0.4), report_on("once", None))
    card = replace(taught, settings=TeachSettings(), words=words).card()
    assert "- bad: gain -0.40 ± 0.10" in card
    assert "Not checked, because there were too few sentences: once." in card
    assert "added anyway" not in card
    assert "added anyway" in replace(taught, words=words).card()


def test_a_long_card_is_cut(taught):
    words = tuple(report_on(f"w{number:03}", 0.4) for number in range(250))
    card = replace(taught, words=words).card()
    assert sum(line.startswith("| w") for line in card.splitlines()) == 1 + 200  # with the header
    assert "… and 50 more." in card


def test_earlier_words_stay_in_the_card_and_a_damaged_report_is_refused(small):
    again = replace(small, earlier=small.report(), words=(report_on("good", 0.4),))
    assert all(f"| {word} " in again.card() for word in (*WORDS, "good"))
    assert [one["word"] for one in again.report()["earlier"][0]["words"]] == WORDS
    with refused_with("damaged"):
        replace(small, earlier={"words": [{"word": 5}]}).card()

"""The how-tos of using a taught folder: their code runs, and their figures are those of a run."""

import re

import pytest

from rarewords import WordLearner, WordVectors, inject_folder
from rarewords.engine import one_thread
from rarewords.models import bundled_model
from tests.teaching.invented import FOLDER, hypernyms, sentences_of
from tests.test_documents import ROOT, code_blocks


@pytest.fixture(scope="module")
def place(lm, tmp_path_factory):
    """A folder with ``text.txt`` and ``taught``, which knows the invented words."""
    folder = tmp_path_factory.mktemp("howto")
    (folder / "text.txt").write_text((FOLDER / "text.txt").read_text("utf-8"), "utf-8")
    words = list(hypernyms())
    tasks = [(word, sentences_of(word, most=12).splitlines()) for word in words]
    made = WordLearner.for_model(lm).infer_each(tasks)
    vectors = WordVectors(words, [one.vector for one in made])
    inject_folder("default", vectors, folder / "taught", slash=True)
    return folder


def run(page, place, monkeypatch):
    monkeypatch.chdir(place)
    names = {"untaught": str(bundled_model())}
    with one_thread():  # small batches gain nothing from a second one, and wait for it on a busy machine
        for block in code_blocks(ROOT / "docs" / "howto" / page, "python"):
            exec(compile(block, page, "exec"), names)
    return names, (ROOT / "docs" / "howto" / page).read_text("utf-8")


def test_fine_tuning(place, monkeypatch):
    names, text = run("fine-tuning.md", place, monkeypatch)
    for row, found in (("classifier, 3 classes", names["classified"]), ("tagger, animal", names["tagged"])):
        shown = re.search(rf"\| {row}[^|]*\| ([\d.]+) \| ([\d.]+) \|", text)
        figures = [float(one) for one in shown.groups()]
        assert [found["untaught"], found["taught"]] == pytest.approx(figures, abs=0.16)
        assert found["taught"] > found["untaught"] + 0.2
    assert max(names["losses"]) < 8


def test_comparing_words_by_their_sentences():
    *_, block = code_blocks(ROOT / "docs" / "howto" / "probing.md", "python")
    exec(compile(block, "probing.md", "exec"), {})


def test_search(place, monkeypatch):
    names, text = run("search.md", place, monkeypatch)
    shown = re.search(r"of ten: (\d+) with the untaught model, (\d+) with the taught", text)
    found = [10 * names["searched"][name] for name in ("untaught", "taught")]
    assert found == pytest.approx([float(one) for one in shown.groups()], abs=1.1)
    assert found[1] > found[0] + 2


def test_publishing(place, monkeypatch, capsys):
    names, text = run("hub.md", place, monkeypatch)
    first = capsys.readouterr().out.splitlines()[0]
    assert f"the first line is `{first}`" in text
    assert names["card"].text.splitlines()[0].endswith(", with 30 more words")
    assert names["tokenizer"]("kumquat torvane").input_ids[-2] >= len(names["tokenizer"]) - 30


def test_onnx_export(place, monkeypatch):
    names, text = run("onnx.md", place, monkeypatch)
    answers = names["answers"](names["exported"], names["encoded"])
    assert f"Both answer *{', '.join(answers)}*" in text
    assert answers == names["answers"](names["original"], names["encoded"])
    assert names["difference"] < 1e-3

"""The how-tos of using a taught folder: their code runs, and their figures are those of a run."""

import re
import shlex

import pytest

from rarewords.engine import one_thread
from tests.cli.run import rarewords
from tests.test_documents import ROOT, code_blocks


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder where the tutorial was followed until it has ``village.txt`` and ``taught``."""
    folder = tmp_path_factory.mktemp("howto")
    tutorial = ROOT / "docs" / "tutorial.md"
    line = next(
        line
        for block in code_blocks(tutorial, "console")
        for line in block.splitlines()
        if line.startswith("$ rarewords teach") and line.endswith("--out taught")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        exec(code_blocks(tutorial, "python")[0], {})
        rarewords(*shlex.split(line)[2:])
    return folder


def run(page, place, monkeypatch):
    monkeypatch.chdir(place)
    names = {}
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

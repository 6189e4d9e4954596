"""The demo: a table of words before and after, by a rule that does not pick the ones that turn out well."""

import json
import re

import pytest

from rarewords import wnlampro
from rarewords.embeddings import read_words
from tests.cli.run import rarewords

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The demo, run once with some of its words: what it prints, and its folder."""
    folder = tmp_path_factory.mktemp("demo") / "taught"
    some = ("kumquat", "dandelion", "persimmon", "rattan", "tracer", "unicycle")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "rarewords.cli.demo.read_words", lambda path: [one for one in read_words(path) if one in some]
        )
        patch.setattr("rarewords.cli.demo._SHOWN", 3)
        return rarewords("-q", "demo", "--out", folder).stdout, folder


@pytest.fixture(scope="module")
def report(demo):
    return json.loads((demo[1] / "teaching.json").read_text("utf-8"))


def test_the_demo_fits_a_terminal_states_its_rule_and_names_the_next_command(demo):
    lines = demo[0].splitlines()
    assert max(map(len, lines)) <= 80
    assert "(kumquat: ku ##m ##qua ##t)" in lines[0]
    assert "at most 20 sentences of Wikipedia each" in lines[1]
    assert "a … is a kind of _      (* right by WordNet; 1 word in 2, by the alphabet)" in lines
    assert lines[-1].endswith("rarewords teach FILES --out FOLDER")


def test_the_demo_shows_its_words_by_the_rule_and_marks_right_answers(demo, report):
    shown, _ = demo
    kept, worse = ({one["word"]: one for one in report[kind]} for kind in ("words", "worse"))
    assert len(kept) > len(worse)
    table = shown.split("after\n")[1].split("\n\n")[0]
    rows = [(line[:13].strip(), line[13:44].strip(), line[44:]) for line in table.splitlines()]
    assert [word for word, _, _ in rows] == sorted({**kept, **worse})[::2]
    right = {}
    for entry in wnlampro.load():
        if entry.relation == "hypernym":
            right.setdefault(entry.word.text, set()).update(target.text for target in entry.targets)

    def marked(word, answers):
        return ", ".join(f"{one}*" if one in right.get(word, ()) else one for one in answers[:3])

    for word, before, after in rows:
        assert before == marked(word, {**kept, **worse}[word]["before"])
        assert after == (marked(word, kept[word]["after"]) if word in kept else "skipped")
    assert table.count("*") > 2
    assert f"{len(kept)} words added, {len(worse)} skipped because no gain is expected" in shown


def test_the_demo_gives_the_mrr_of_all_its_words_and_it_rises(demo, report):
    shown, _ = demo
    words = len(report["words"]) + len(report["worse"])
    said = re.search(rf"all {words} words: ([\d.]+) before, ([\d.]+) after", shown)
    before, after = map(float, said.groups())
    assert after > before + 0.05

"""The mixture of embeddings and subwords, and the main table."""

import math

import numpy as np

from experiments.paper.parts.main import THRESHOLDS, MainPart, main_table, mixture, mixture_by_threshold
from rarewords.wnlampro.comparison import compare
from tests.experiments.paper.test_part import result

RELATIONS = ["hypernym", "hypernym", "antonym", "antonym"]


def test_each_relation_has_its_own_threshold():
    subwords = result([1, 2, 3, 4], "subwords", RELATIONS, [0, 50, 5, 500])
    embeddings = result([9, 8, 7, 6], "AM", RELATIONS, [0, 50, 5, 500])
    mixed = mixture(subwords, embeddings, {"hypernym": 50, "antonym": math.inf})
    assert mixed.rank.tolist() == [9, 2, 7, 6]
    assert mixed.label == "AM, mixed"
    assert mixture(subwords, embeddings, {"hypernym": 0, "antonym": 0}).rank.tolist() == [1, 2, 3, 4]


def test_thresholds_reach_from_never_to_always():
    subwords = result([1, 2, 1, 4], "subwords", RELATIONS, [0, 50, 5, 500])
    embeddings = result([2, 1, 1, 1], "AM", RELATIONS, [0, 50, 5, 500])
    found = mixture_by_threshold(subwords, [embeddings, embeddings])
    assert found["hypernym"][0] == 0.75  # never: the subwords alone
    assert found["hypernym"][-1] == 0.75  # always: the embeddings alone
    assert THRESHOLDS[int(np.argmax(found["antonym"]))] == 1000
    assert len(found["antonym"]) == len(THRESHOLDS)
    assert 1.0 not in found["hypernym"]  # embeddings for the frequent word only is no threshold


def _part(subwords, embeddings, mixed):
    compared = compare([subwords, embeddings]), compare([subwords, mixed]), compare([embeddings, mixed])
    return MainPart(10, *compared, {}, 0)


def _verdict(part):
    return next(claim.verdict for claim in part.claims() if "best of both" in claim.statement)


def test_the_best_of_both_must_beat_both():
    """A mixture that only repeats the better of the two is not the best of both."""
    relations, counts = ["hypernym", "antonym"] * 40, [0] * 40 + [50] * 40
    subwords = result([9] * 40 + [1] * 40, "subwords", relations, counts)
    embeddings = result([1] * 40 + [9] * 40, "AM", relations, counts)
    best = result([1] * 80, "mixed", relations, counts)
    assert _verdict(_part(subwords, [embeddings], [best])) == "seen"
    assert _verdict(_part(subwords, [embeddings], [subwords])) == "not seen"
    assert _verdict(_part(subwords, [embeddings], [embeddings])) == "not seen"


def test_the_papers_rows_stand_below_ours():
    compared = compare([result([4, 4], "subwords"), result([1, 1], "AM")])
    lines = [[cell.strip() for cell in line.split("|")] for line in main_table(compared, paper=True).splitlines()]
    named = [line[1:4] for line in lines if len(line) > 3]
    assert ["antonym", "subwords", "0.250"] in named
    assert ["", "AM", "1.000"] in named
    assert ["", "paper: base+AM", "0.449"] in named
    assert "paper" not in main_table(compared)


def test_misspellings_do_not_hide_the_other_relations():
    relations = ["corruption"] * 4 + ["hypernym"] * 2 + ["antonym"]
    compared = compare([result([4] * 7, "subwords", relations), result([1] * 4 + [4, 4, 2], "AM", relations)])
    lines = [line.split("|") for line in main_table(compared).splitlines()]
    rare = {(line[1].strip(), line[2].strip()): line[3].strip() for line in lines if len(line) > 3}
    assert rare["without misspellings", "subwords"] == "0.250"
    at = [line[1].strip() for line in lines].index("without misspellings") + 1
    assert lines[at][3].strip() == "0.333"  # (0.25 + 0.25 + 0.5) / 3
    assert lines[at + 2][3].strip() == "0.583"  # (1 + 0.25 + 0.5) / 3


def test_the_share_of_misspellings_is_that_of_the_rare_entries_asked():
    relations = ["hypernym", "corruption", "hypernym", "hypernym"]
    made = [result([1, 2, 3, 4], label, relations, [0, 5, 9, 10]) for label in ("subwords", "AM", "mixed")]
    part = _part(made[0], [made[1]], [made[2]])
    assert part.misspelt == 1 / 3
    assert "33% of the rare entries here" in "".join(part.markdown(None))

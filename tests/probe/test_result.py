"""The figures by hand, and a result's file."""

import numpy as np
import pytest

from rarewords import InputError
from rarewords.probe.dataset import AnnotatedWord, Entry
from rarewords.probe.evaluate import score
from rarewords.probe.result import ProbeResult


@pytest.fixture
def result():
    return ProbeResult(
        {"label": "by hand", "dataset": "d", "depth": 512},
        id=["1", "2", "3", "4"],
        word=["lime", "kumquat", "salsify", "new"],
        relation=["hypernym", "hypernym", "hypernym", "antonym"],
        rank=np.array([1, 4, 0, 200]),
        hits3=np.array([2, 0, 0, 0]),
        hits10=np.array([3, 1, 0, 0]),
        count=np.array([500, 4, 9, 70000]),
    )


def test_figures_by_hand(result):
    cell = result.cell("hypernym")
    assert cell.entries == 3
    assert cell.mrr.mean == pytest.approx((1 + 1 / 4 + 0) / 3)
    assert cell.mrr.error == pytest.approx(np.std([1, 0.25, 0], ddof=1) / np.sqrt(3))
    assert cell.p3.mean == pytest.approx((2 / 3) / 3)
    assert cell.p10.mean == pytest.approx((0.3 + 0.1) / 3)
    assert result.cell("hypernym", "rare").mrr.mean == pytest.approx(0.125)
    assert result.cell("antonym").mrr.mean == 0  # a rank beyond 100 counts for nothing
    assert result.cell("corruption") is None
    assert np.isnan(result.cell("antonym").mrr.error)
    assert result.mrr == pytest.approx(1.25 / 4)


def test_ranks_are_the_best_over_patterns_and_targets():
    def word(text):
        return AnnotatedWord(text, "n", 1.0, 1)

    entries = [
        Entry("1", "test", word("lime"), "cohyponym", (word("lemon"), word("orange"))),
        Entry("2", "test", word("oboe"), "cohyponym", (word("flute"),)),
    ]
    vocabulary = {"lemon": 7, "orange": 8, "flute": 9}
    other = 1000 + np.arange(100)
    ids = np.stack([other, other, other, other])
    ids[0, [4, 5]] = 8, 7  # first pattern: places 5 and 6
    ids[1, [1, 50]] = 7, 8  # second: places 2 and 51
    rank, hits3, hits10 = score(entries, ids, vocabulary)
    assert rank.tolist() == [2, 0]
    assert hits3.tolist() == [1, 0]
    assert hits10.tolist() == [2, 0]
    with pytest.raises(ValueError, match="rows of answers"):
        score(entries, ids[:3], vocabulary)


@pytest.mark.parametrize("name", ["r.json", "r.json.gz"])
def test_file_round_trip(result, tmp_path, name):
    result.save(tmp_path / name)
    again = ProbeResult.load(tmp_path / name)
    assert again.as_json() == result.as_json()
    again.save(tmp_path / f"again-{name}")
    assert (tmp_path / f"again-{name}").read_bytes() == (tmp_path / name).read_bytes()


def test_files_that_are_no_results(result, tmp_path):
    path = tmp_path / "r.json"
    path.write_text('{"format": "other"}')
    with pytest.raises(InputError, match="not a result"):
        ProbeResult.load(path)
    result.save(path)
    path.write_text(path.read_text().replace('"rank": "1 4', '"rank": "1 four'))
    with pytest.raises(InputError, match="damaged"):
        ProbeResult.load(path)
    path.write_text("{")
    with pytest.raises(InputError, match="not a JSON file"):
        ProbeResult.load(path)

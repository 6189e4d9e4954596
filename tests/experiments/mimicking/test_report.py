"""The report: means over seeds, and comparisons with the same seeds."""

import json

import pytest

from experiments.code import code_of
from experiments.mimicking.report import main
from rarewords import wnlampro


def test_a_setting_is_compared_with_the_papers_of_the_same_seeds(tmp_path):
    entries = wnlampro.load().select(subset="dev", limit=40)
    rare = [entry.word.count < 10 for entry in entries]
    assert any(rare)

    def write(file, **values):
        (tmp_path / f"{file}.json").write_text(json.dumps(values | code_of(["lm.py"])), "utf-8")

    def trained(name, seed, rank):
        row = {"epochs": 10, "length": None, "context_share": 0.5, "dev": [rank] * len(entries)}
        write(f"{name}-{seed}", name=name, seed=seed, rows=[row])

    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "paper-0.done").write_text("1.5", "utf-8")
    write("about", model="gte-mlm", device="none")
    write("subwords-dev", dev=[0] * len(entries))
    write("subwords-test", test=[0] * len(wnlampro.load().select(subset="test", limit=40)))
    trained("paper", 0, 2)
    trained("paper", 1, 1)
    trained("other", 0, 4)
    asked = list(wnlampro.load().select(subset="test", limit=40))
    write("test-paper-0", name="paper-0", replace=[2] * 40)
    words = [entry.word.text for entry in asked[:5]]
    write("sampled-ota", name="ota", words=words, seconds=0.25, replace=[4] * 5)
    main("table", tmp_path, to=tmp_path, limit=40)
    found = json.loads((tmp_path / "table-gte-mlm.json").read_text("utf-8"))
    rows = {row["setting"]: row for row in found["rows"] if row["part"] == "dev"}
    assert found["seconds"] == {"paper-0": 1.5}
    assert rows["paper"]["mrr"]["all"]["rare"] == pytest.approx(0.75)
    assert rows["paper"]["by_seed"] == [0.5, 1.0]
    against = rows["other"]["against_paper"]["all"]
    assert against["change"] == pytest.approx(-0.25)  # not from the mean of both seeds
    assert (against["better"], against["worse"]) == (0, sum(rare))
    assert rows["other"]["against_subwords"]["all"]["better"] == sum(rare)
    sampled = {row["setting"]: row for row in found["rows"] if row["part"] == "sampled"}
    assert sampled["subwords"]["entries"] == 5
    assert {value for bands in sampled["paper"]["mrr"].values() for value in bands.values()} == {0.5}
    assert {value for bands in sampled["ota"]["mrr"].values() for value in bands.values()} == {0.25}
    assert sampled["ota"]["seconds"] == 0.25
    assert "| other" in (tmp_path / "table-gte-mlm.md").read_text("utf-8")

"""What a reproduction is made of, by itself: stages, samples, mixtures, claims, settings, the page."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from threading import Thread

import numpy as np
import pytest

from rarewords.probe.dataset import Dataset, FrequencyBounds
from rarewords.probe.result import ProbeResult
from rarewords.report.tables import figure
from rarewords.reproduction import published
from rarewords.reproduction.claims import Check, Claim
from rarewords.reproduction.document import Table
from rarewords.reproduction.page import page
from rarewords.reproduction.parts.comparing import direction, main_table
from rarewords.reproduction.results import containing_a_target, mixture, replaced, restrict, thresholds
from rarewords.reproduction.sampling import sample_dataset
from rarewords.reproduction.settings import SAMPLES, ReproduceSettings
from rarewords.reproduction.workshop import Workshop

KILLED = """
import sys, time
from pathlib import Path
from rarewords.reproduction.workshop import Workshop
def make(folder, work):
    work.mkdir(parents=True, exist_ok=True)
    (folder / "half").write_text("x")
    (work / "done").write_text("1")
    time.sleep(60)
Workshop(Path(sys.argv[1])).stage("Slow work", {"a": 1}, make)
"""


def test_a_stage_is_made_once_and_another_recipe_makes_another(tmp_path):
    made = []

    def make(folder, _):
        made.append(folder)
        (folder / "value").write_text("x")

    workshop = Workshop(tmp_path)
    first = workshop.stage("Some work", {"a": 1, "b": [2]}, make)
    assert workshop.stage("Some work", {"b": [2], "a": 1}, make) == first
    assert Workshop(tmp_path).stage("Some work", {"a": 1, "b": [2]}, make) == first
    assert len(made) == 1
    assert workshop.stage("Some work", {"a": 2}, make) != first
    assert len(made) == 2


def test_a_killed_stage_leaves_its_work_and_no_folder(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    waited = time.monotonic()
    while not list(tmp_path.glob(".slow-work-*.work/done")):
        assert process.poll() is None
        assert time.monotonic() - waited < 60
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not list(tmp_path.glob("slow-work-*"))
    workshop = Workshop(tmp_path)
    seen = []
    workshop.stage("Slow work", {"a": 1}, lambda _, work: seen.append((work / "done").read_text()))
    assert seen == ["1"]
    (cost,) = workshop.costs.values()
    assert cost.resumed
    assert not list(tmp_path.glob(".slow*"))


def test_of_two_runs_at_the_same_time_one_makes_the_stage_and_the_other_waits(tmp_path):
    made = []

    def make(folder, _):
        made.append(1)
        time.sleep(0.3)
        (folder / "value").write_text("x")

    workshops = [Workshop(tmp_path), Workshop(tmp_path)]
    threads = [Thread(target=one.stage, args=("Work", {}, make)) for one in workshops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
    # Both count it as made in their time; a run that comes later finds it made earlier.
    assert [cost.reused for one in workshops for cost in one.costs.values()] == [False, False]
    time.sleep(0.05)
    later = Workshop(tmp_path)
    later.stage("Work", {}, make)
    assert [cost.reused for cost in later.costs.values()] == [True]


def test_the_cost_of_a_stage_leaves_out_the_stages_inside_it(tmp_path):
    workshop = Workshop(tmp_path)

    def outer(*_):
        workshop.stage("inner", {}, lambda *_: time.sleep(0.3))
        time.sleep(0.1)

    workshop.stage("outer", {}, outer)
    seconds = {cost.stage: cost.seconds for cost in workshop.costs.values()}
    assert 0.3 <= seconds["inner"] < 0.5
    assert 0.1 <= seconds["outer"] < 0.3


def test_a_sample_keeps_a_share_of_every_cell():
    whole, bounds = Dataset.load(), FrequencyBounds()
    sample = sample_dataset(whole, 300, 600, 0)
    cells = Counter((entry.subset, entry.relation, bounds.band(entry.count)) for entry in sample)
    everything = Counter((entry.subset, entry.relation, bounds.band(entry.count)) for entry in whole)
    assert set(cells) == set(everything)
    assert min(cells.values()) >= 12
    share = cells["test", "cohyponym", "medium"] / everything["test", "cohyponym", "medium"]
    assert share == pytest.approx(600 / sum(entry.subset == "test" for entry in whole), rel=0.1)
    assert sample_dataset(whole, 300, 600, 0).digest == sample.digest
    assert sample_dataset(whole, 300, 600, 1).digest != sample.digest
    assert sample_dataset(whole, None, None, 0) is whole


def _result(ranks, counts, label="one"):
    size = len(ranks)
    zeros = np.zeros(size, dtype=np.int64)
    ids = [f"e{number}" for number in range(size)]
    settings = {"label": label, "dataset": "d", "set": "all"}
    return ProbeResult(
        settings, ids, ids, ["hypernym"] * size, np.array(ranks), zeros, zeros, np.array(counts)
    )


def test_mixtures_and_replacements_take_entries_from_where_they_should():
    pieces, vectors = _result([1, 2, 3, 4], [0, 5, 50, 500]), _result([9, 8, 7, 6], [0, 5, 50, 500], "other")
    assert mixture(pieces, vectors, 50, "m").rank.tolist() == [9, 8, 3, 4]
    assert mixture(pieces, vectors, np.inf, "m").rank.tolist() == [9, 8, 7, 6]
    part = restrict(vectors, np.array([False, True, False, True]))
    taken = replaced(pieces, part)
    assert taken.rank.tolist() == [1, 8, 3, 6]
    assert taken.label == "other"
    assert thresholds()[:5] == [1, 2, 4, 8, 10]
    assert thresholds()[-1] == np.inf


def test_a_claim_is_seen_in_part_where_some_checks_hold():
    def verdict(*holds):
        return Claim("p", "s", "w", "n", tuple(Check("t", one) for one in holds)).verdict

    assert [verdict(True, True), verdict(True, False), verdict(False), verdict()] == [
        "seen",
        "seen in part",
        "not seen",
        "not tested",
    ]
    assert [direction(0.1, 0.2), direction(-0.1, 0.2), direction(0.0001, 0.2), direction(1, None)] == [
        "same",
        "other",
        "none",
        "–",
    ]


def test_keywords_that_contain_a_target_are_found():
    dataset = Dataset.load()
    contained = containing_a_target(dataset)
    words = {entry.word.text for entry in dataset if entry.id in contained}
    assert "lingonberry" in words  # a berry
    assert not any(entry.relation == "corruption" for entry in dataset if entry.id in contained)


def test_settings_are_the_papers_unless_a_sample_is_asked_for():
    full = ReproduceSettings()
    assert full.sample.whole
    assert not SAMPLES["quick"].whole
    assert (full.curve("random").iterations, full.curve("random").solver) == (5000, "adam")
    assert full.mimic("am+context", 3).contexts_min == 8
    assert full.mimic("am+context", 3).seed == 3
    assert not full.mimic("no-form", 0).form
    assert full.mimic("am", 0).epochs == 10
    assert list(ReproduceSettings(seed=2, seeds=3).training_seeds) == [2, 3, 4]


def test_the_papers_figures_are_those_of_its_text():
    best = min(published.OTA_CURVES, key=lambda row: row[2])
    assert best[0] == 4000
    # From the paper's own table: losses of OTA that it calls marginal, and gains of AM for rare words.
    losses = [
        1 - ota / own for ota, own in zip(*(published.METHODS[one] for one in ("ota", "pieces")), strict=True)
    ]
    assert [round(loss, 3) for loss in losses] == [0.045, 0.057, 0.051]
    for relation in published.MAIN:
        before, after = (published.main_cell(relation, model, "rare") for model in ("base", "base+AM"))
        assert after[0] > before[0]
    assert published.main_cell("corruption", "base", "frequent") is None


def test_tables_escape_what_they_show_and_mark_the_papers_rows():
    comparison = {
        "results": ["<pieces>", "AM"],
        "cells": [
            {
                "relation": "antonym",
                "frequency": "rare",
                "entries": 5,
                **{
                    metric: [{"mean": 0.1}, {"mean": 0.2, "p": 0.01, "difference": 0.1, "interval": [0, 1]}]
                    for metric in ("mrr", "p3", "p10")
                },
            }
        ],
    }
    table = main_table(comparison, "t", "caption")
    assert isinstance(table, Table)
    assert table.rows[1][2] == "**.200***"
    assert figure(published.main_cell("antonym", "base", "rare")[0]) in table.rows[2]
    assert table.published == {2, 3, 4, 5}
    from rarewords.reproduction.document import Section

    html = page("Title", [], [], [Section("main", "Main & more", [table])], [], "")
    assert "&lt;pieces&gt;" in html
    assert "<b>.200</b><sup>*</sup>" in html
    assert "Main &amp; more" in html
    assert 'class="paper"' in html

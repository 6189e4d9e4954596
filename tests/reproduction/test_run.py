"""A run of all parts: the shape of its results, the report, resuming, and a second run."""

import json
import re
import shutil

import numpy as np
import pytest

from rarewords import InputError, WordVectors
from rarewords.mimic.mimicking import AttentiveMimicking
from rarewords.probe.dataset import BANDS, RELATIONS, Dataset
from rarewords.probe.result import ProbeResult
from rarewords.reproduction import published
from rarewords.reproduction.laboratory import Laboratory
from rarewords.reproduction.parts import PARTS
from rarewords.reproduction.parts.beyond import LENGTHS
from rarewords.reproduction.run import check_parts, reproduce
from rarewords.reproduction.settings import ReproduceSettings
from rarewords.reproduction.workshop import Workshop


def test_every_part_has_results_of_the_right_shape(done, settings):
    results = done[1].results
    assert list(results) == list(PARTS)
    curves = results["ota"]["curves"]
    for mode in ("static", "random"):
        assert curves[mode]["marks"] == [0, 1, 10, 12]
        assert len(curves[mode]["best_words"]) == settings.sample.ota_words
        # Twelve steps from nowhere come nearer.
        assert curves[mode]["distances"][-1] < curves[mode]["distances"][0] == 1.0
    cells = results["methods"]["cells"]
    assert set(cells) == set(published.METHODS)
    for method in cells:
        assert all(0 <= cells[method][f"all {band}"]["mrr"] <= 1 for band in BANDS)
    # Whatever stands for several pieces, entries are the same.
    assert len({cells[method]["all all"]["entries"] for method in cells}) == 1
    shares = np.array(results["heatmap"]["shares"], dtype=float)
    filled = np.array(results["heatmap"]["entries"]) > 0
    assert np.allclose(shares[:, filled].sum(axis=0), 1, atol=1e-3)
    runs = results["ablation"]["runs"]
    assert [(run["configuration"], run["epoch"]) for run in runs] == [
        (one, epoch) for one in settings.configurations for epoch in settings.sample.epochs
    ]
    shown = {run["configuration"]: run["context_share"] for run in runs}
    assert shown["no-form"] == 1
    assert shown["no-context"] == 0
    assert 0 < shown["am"] < 1
    comparison = results["main"]["comparison"]
    assert comparison["results"] == ["pieces", "AM+context", "AM+context, mixed"]
    assert {cell["relation"] for cell in comparison["cells"]} == {*RELATIONS, "all"}
    beyond = results["beyond"]
    assert [scale for scale, _ in beyond["lengths"]] == list(LENGTHS)
    labels = ["pieces", "AM+context", "AM+context, lengthened", "WordLearner", "WordLearner, mixed"]
    assert beyond["comparison"]["results"] == labels
    # The same entries as in the main table, so the same figures for what both have.
    for one, other in zip(comparison["cells"], beyond["comparison"]["cells"], strict=True):
        assert [cell["mean"] for cell in one["mrr"]][:2] == [cell["mean"] for cell in other["mrr"]][:2]
    for queries, sides in (
        (results["examples"]["queries"], labels[:2]),
        (beyond["queries"], [*labels[:2], labels[3]]),
    ):
        assert {one["word"] for one in queries} >= {"unaccessible", "unicycle", "salsify", "resigntaion"}
        assert all([side["label"] for side in one["sides"]] == sides for one in queries)
        assert sum(one["kind"] == "lot" for one in queries) == len(RELATIONS)


def test_the_mixture_takes_each_entry_from_one_of_the_two(done):
    folder, found = done
    pieces, vectors, mixed = (
        ProbeResult.load(folder / "results" / f"main-{name}.json.gz")
        for name in ("pieces", "AM+context", "AM+context--mixed")
    )
    below = found.results["main"]["below"]
    rare = pieces.count < (np.inf if below is None else below)
    np.testing.assert_array_equal(mixed.rank, np.where(rare, vectors.rank, pieces.rank))
    tried = found.results["main"]["dev_by_threshold"]
    assert max(tried, key=lambda one: one[1])[0] == below


def test_words_of_one_piece_keep_their_answers(done, lm):
    folder, _ = done
    pieces, first = (
        ProbeResult.load(folder / "results" / f"methods-{name}.json.gz") for name in ("pieces", "first")
    )
    single = np.array([len(ids) == 1 for ids in lm.tokens.pieces_of(list(pieces.word))])
    assert single.any()
    np.testing.assert_array_equal(pieces.rank[single], first.rank[single])
    assert (pieces.rank[~single] != first.rank[~single]).any()


def test_conclusions_follow_from_the_results(done):
    claims = {claim.statement: claim for claim in done[1].claims}
    assert len(claims) >= 18
    assert {claim.part for claim in claims.values()} == {n for n, part in PARTS.items() if not part.beyond}
    assert all(claim.published and claim.source for claim in claims.values())
    ota = done[1].results["ota"]
    claim = claims["The difference between the two at their best is significant."]
    assert (claim.verdict == "seen") == (
        ota["test"]["p_value"] < 0.05 and ota["test"]["first_wins"] > ota["test"]["second_wins"]
    )
    stored = json.loads((done[0] / "results" / "claims.json").read_text())
    assert [one["verdict"] for one in stored] == [claim.verdict for claim in done[1].claims]


def test_the_report_needs_nothing_but_itself_and_says_it_is_a_sample(done):
    folder, found = done
    page = found.report.read_text("utf-8")
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", page)
    assert "@import" not in page
    assert "url(" not in page
    assert "This is a run of the sample" in page
    assert page.count('src="data:image/svg+xml;base64,') == 6
    for name, part in PARTS.items():
        assert f'<section id="{name}"' in page
        assert part.title in page
        assert f'href="#{name}"' in page
    for text in ("Where and why ours differs", "What it cost", "rarewords reproduce", "Probing with OTA"):
        assert text in page
    figures = sorted(path.name for path in (folder / "figures").iterdir())
    names = ["ablation", "beyond", "heatmap", "main", "methods", "ota"]
    assert figures == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    markdown = (folder / "report.md").read_text("utf-8")
    assert f"![{'Heat map of ranks by counts'}](figures/heatmap.svg)" in markdown
    # The paper's own figures stand beside ours.
    table = (folder / "tables" / "main.md").read_text("utf-8")
    assert "| paper: BERT-base+AM " in table
    assert ".449" in table


def test_a_second_run_gives_the_same_tables_and_reuses_stages(done, lm, store, settings, tmp_path):
    folder, found = done
    parts = ["main", "ota"]
    again = reproduce(lm, store, tmp_path / "again", parts=parts, settings=settings)
    assert list(again.results) == ["ota", "main"]
    assert _without_seconds(again.results["ota"]) == _without_seconds(found.results["ota"])
    assert again.results["main"] == found.results["main"]
    for table in ("main", "main-directions", "main-threshold", "ota"):
        name = f"tables/{table}.md"
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()
    stages = {path.name: path.stat().st_mtime_ns for path in (folder / "stages").iterdir()}
    resumed = reproduce(lm, store, folder, parts=["main"], settings=settings)
    assert resumed.results == found.results  # parts of the earlier run are in the report as well
    assert {path.name: path.stat().st_mtime_ns for path in (folder / "stages").iterdir()} == stages
    assert "earlier run" in (folder / "tables" / "costs.md").read_text("utf-8")


def test_an_interrupted_run_goes_on_and_ends_the_same(done, lm, store, settings, tmp_path, monkeypatch):
    real = Laboratory.probe

    def stop(self, label, **options):
        if label == "LAST":
            raise KeyboardInterrupt
        return real(self, label, **options)

    monkeypatch.setattr(Laboratory, "probe", stop)
    with pytest.raises(KeyboardInterrupt):
        reproduce(lm, store, tmp_path, parts=["methods"], settings=settings)
    assert not (tmp_path / "report.html").exists()
    monkeypatch.setattr(Laboratory, "probe", real)
    resumed = reproduce(lm, store, tmp_path, parts=["methods"], settings=settings)
    assert resumed.results["methods"] == done[1].results["methods"]
    costs = (tmp_path / "tables" / "costs.md").read_text("utf-8")
    assert re.search(r"Probing with FIRST +\| +[\d.]+ \| +earlier run", costs)
    assert re.search(r"Probing with LAST +\| +[\d.]+ \| +this run", costs)


@pytest.mark.parametrize("inference", [1, 2])
def test_a_training_cut_off_between_an_epoch_and_its_vectors_goes_on(
    inference, done, lm, store, settings, tmp_path, monkeypatch
):
    asked = []
    real = AttentiveMimicking.infer_words

    def stop(self, *arguments, **options):
        asked.append(1)
        if len(asked) == inference:
            raise KeyboardInterrupt
        return real(self, *arguments, **options)

    ready = WordVectors.load(next(done[0].glob("stages/one-token-*")) / "vectors.safetensors")
    lab = Laboratory(lm, store, Dataset.load(), settings, Workshop(tmp_path), ready)
    monkeypatch.setattr(AttentiveMimicking, "infer_words", stop)
    with pytest.raises(KeyboardInterrupt):
        lab.training("am+context", 0)
    (state,) = tmp_path.glob(".training-*.work/checkpoint/checkpoint.json")
    assert json.loads(state.read_text())["epoch"] == inference
    trained = lab.training("am+context", 0)
    assert [report["epoch"] for report in trained.history] == [1, 2]
    stage = next(done[0].glob("stages/training-am-plus-context-*"))
    for epoch in settings.sample.epochs:
        whole = WordVectors.load(stage / f"epoch-{epoch}.safetensors")
        np.testing.assert_array_equal(trained.vectors[epoch].matrix, whole.matrix)


def test_ready_made_targets_are_used(done, lm, store, settings, tmp_path):
    stage = next(done[0].glob("stages/one-token-approximation-*"))
    ready = WordVectors.load(stage / "vectors.safetensors")
    lab = Laboratory(
        lm, store, Dataset.load(), settings, Workshop(tmp_path), ready.subset(list(ready.words)[1:])
    )
    made = lab.approximations
    assert set(made.words) == set(ready.words)
    (stage,) = tmp_path.glob("one-token-approximation-*")
    assert list(WordVectors.load(stage / "vectors.safetensors")) == [ready.words[0]]
    np.testing.assert_allclose(made[ready.words[0]], ready[ready.words[0]], atol=1e-5)
    other = WordVectors(["kumquat"], np.ones((1, lm.dim), np.float32), {"fingerprint": "0" * 16})
    with pytest.raises(InputError, match="made for another model"):
        Laboratory(lm, store, Dataset.load(), settings, Workshop(tmp_path), other)


def test_unknown_parts_and_settings_are_refused():
    assert check_parts(["main", "ota", "main"]) == ["ota", "main"]
    assert check_parts(["all"]) == list(PARTS)
    with pytest.raises(InputError, match="unknown part 'everything'; use all, ota"):
        check_parts(["everything"])
    with pytest.raises(InputError, match="unknown sample 'huge'; use full, quick, tiny"):
        ReproduceSettings.sized("huge")
    with pytest.raises(InputError, match="no preset 'slow'"):
        ReproduceSettings(ota_preset="slow")
    with pytest.raises(InputError, match="unknown configuration 'magic'"):
        ReproduceSettings(configurations=("magic",))


def _without_seconds(result):
    return json.loads(re.sub(r'"seconds": \[[^]]*\]', '"seconds": []', json.dumps(result)))


def test_a_report_is_written_anew_from_what_is_there(done, lm, store, settings, tmp_path):
    folder, found = done
    shutil.copytree(folder / "results", tmp_path / "moved" / "results")  # without the stages
    again = reproduce(lm, store, tmp_path / "moved", parts=["report"], settings=settings)
    assert again.results == found.results
    assert [claim.verdict for claim in again.claims] == [claim.verdict for claim in found.claims]
    costs = (tmp_path / "moved" / "tables" / "costs.md").read_text("utf-8")
    assert "| Probing with OTA " in costs
    assert "earlier run" in costs
    assert not (tmp_path / "moved" / "stages").exists()
    with pytest.raises(InputError, match="no results of this model"):
        reproduce(lm, store, tmp_path / "empty", parts=["report"], settings=settings)
    with pytest.raises(InputError, match="unknown part 'report'"):
        check_parts(["report", "main"])

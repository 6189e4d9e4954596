"""A run of all parts: its results, its report, resuming, and a second run."""

import json
import os
import re
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.paper import published
from experiments.paper.experiment import Experiment
from experiments.paper.part import to_json
from experiments.paper.parts.examples import ExamplesPart
from experiments.paper.run import PARTS, check_parts, reproduce
from experiments.paper.settings import CONFIGURATIONS, sample_dataset
from experiments.paper.stages import Stages
from rarewords import LanguageModel, WordEmbeddings, wnlampro
from rarewords.wnlampro.dataset import BANDS, RELATIONS
from rarewords.wnlampro.result import ProbeResult
from tests.architectures import small_model
from tests.errors import refused_with


@pytest.mark.slow
def test_every_part_has_results_of_the_right_shape(done, settings):
    parts = done[1].parts
    assert list(parts) == list(PARTS)
    ota = parts["ota"]
    assert ota.marks == (0, 1, 10, 12)
    for frame in ("static", "random"):
        # Twelve steps from nowhere come nearer.
        assert ota.means[frame][-1] < ota.means[frame][0] == 1.0
    comparison = parts["methods"].comparison
    assert comparison.labels == ("OTA", "subwords", "FIRST", "LAST", "AVG")
    assert [comparison.at["all", band].band for band in BANDS] == list(BANDS)
    heatmap = parts["heatmap"]
    assert np.array(heatmap.cells).shape == (len(heatmap.ranks), len(heatmap.counts))
    assert heatmap.threshold == 1  # 256 in the paper's corpus, which is many times larger
    ablation = parts["ablation"]
    assert list(ablation.against_am) == list(CONFIGURATIONS)
    assert all(len(found) == len(settings.epochs) for found in ablation.against_am.values())
    shares = ablation.context_share
    assert set(shares["no-form"]) == {1.0}
    assert set(shares["no-context"]) == {0.0}
    assert all(0 < share < 1 for share in shares["am"])
    main = parts["main"]
    assert main.embeddings.labels == ("subwords", "AM+context")
    assert [len(runs) for runs in main.embeddings.at["all", "all"].runs["mrr"]] == [1, settings.seeds] == [1, 2]
    assert {cell.relation for cell in main.embeddings.cells} == {*RELATIONS, "all"}
    queries = parts["examples"].queries
    assert [one.word for one in queries] == [one[0] for one in published.EXAMPLES]
    assert all(list(one.ours) == ["subwords", "AM+context, seed 0", "AM+context, seed 1"] for one in queries)


@pytest.mark.slow
def test_words_are_approximated_by_preset_fast_and_the_figure_by_the_papers(done, settings):
    def made_with(stage):
        (note,) = done[0].glob(f"cache/{stage}-*/stage.json")
        return json.loads(note.read_text("utf-8"))["recipe"]["settings"]

    ota, static, random = map(made_with, ("one-token-approximation", "ota-figure-static", "ota-figure-random"))
    assert (ota["frame"], ota["start"], ota["steps"]) == ("masked", "mean", settings.ota_steps)
    assert (static["frame"], random["frame"]) == ("static", "random")
    assert {one["start"] for one in (static, random)} == {"zero"}
    assert {one["steps"] for one in (static, random)} == {settings.curve_steps}


@pytest.mark.slow
def test_seeds_differ_and_their_mean_is_shown(done):
    found = done[1].parts["main"].embeddings.at["all", "all"]
    subwords, by_seed = found.runs["mrr"]
    assert by_seed[0] != by_seed[1]
    assert [one.mean for one in found.measures["mrr"]] == pytest.approx([*subwords, np.mean(by_seed)])


@pytest.mark.slow
def test_the_mixture_takes_each_entry_from_one_of_the_two(done):
    folder, found = done
    subwords, embeddings, mixed = (
        ProbeResult.load(folder / "results" / f"main-{name}.json.gz")
        for name in ("subwords", "am+context-0", "mixed-0")
    )
    assert set(found.parts["main"].dev) == set(RELATIONS)
    same = (mixed.rank == subwords.rank) | (mixed.rank == embeddings.rank)
    assert same.all()


@pytest.mark.slow
def test_words_of_one_subword_keep_their_answers(done, lm):
    folder, _ = done
    subwords, first = (
        ProbeResult.load(folder / "results" / f"methods-{name}.json.gz") for name in ("subwords", "first")
    )
    single = np.array([len(ids) == 1 for ids in lm.tokens.subwords_of(list(subwords.word))])
    assert single.any()
    np.testing.assert_array_equal(subwords.rank[single], first.rank[single])
    assert (subwords.rank[~single] != first.rank[~single]).any()


@pytest.mark.slow
def test_without_form_a_word_without_contexts_is_probed_with_the_zero_embedding(done, corpus):
    stage = next(done[0].glob("cache/training-am-minus-form-seed-0-*"))
    embeddings = WordEmbeddings.load(stage / "epoch-2.safetensors")
    absent = [word for word in embeddings if not corpus.count(word)]
    assert absent
    assert not embeddings.subset(absent).matrix.any()
    result = ProbeResult.load(done[0] / "results" / "ablation-no-form-2-0.json.gz")
    subwords = ProbeResult.load(done[0] / "results" / "methods-subwords.json.gz")
    own = dict(zip(subwords.id, subwords.rank, strict=True))
    changed = [word for one, word, rank in zip(result.id, result.word, result.rank, strict=True) if rank != own[one]]
    assert set(changed) & set(absent)


@pytest.mark.slow
def test_conclusions_follow_from_the_results(done):
    claims = {claim.statement: claim for claim in done[1].claims}
    assert len(claims) == len(done[1].claims) == 21
    assert all(claim.published and claim.test for claim in claims.values())
    ota = done[1].parts["ota"]
    claim = claims["The difference between the two at their best is significant."]
    assert (claim.verdict == "seen") == (ota.at_best.direction > 0)


@pytest.mark.slow
def test_a_second_run_gives_the_same_tables_and_reuses_stages(done, lm, corpus, settings, tmp_path):
    folder, found = done
    again = reproduce(lm, corpus, tmp_path / "again", parts=["ota"], settings=settings)
    assert to_json(again.parts) == to_json({"ota": found.parts["ota"]})
    cache = {path.name: path.stat().st_mtime_ns for path in (folder / "cache").iterdir()}
    resumed = reproduce(lm, corpus, folder, parts=["main"], settings=settings)
    assert list(resumed.parts) == list(found.parts)  # parts of the earlier run are in the report as well
    assert to_json(resumed.parts["main"]) == to_json(found.parts["main"])
    assert {path.name: path.stat().st_mtime_ns for path in (folder / "cache").iterdir()} == cache
    assert "earlier run" in (folder / "report.md").read_text("utf-8")


@pytest.mark.slow
def test_an_interrupted_run_resumes_and_ends_the_same(done, lm, corpus, settings, tmp_path, monkeypatch):
    real = Experiment.probe

    def stop(self, label, **options):
        if label == "LAST":
            raise KeyboardInterrupt
        return real(self, label, **options)

    monkeypatch.setattr(Experiment, "probe", stop)
    with pytest.raises(KeyboardInterrupt):
        reproduce(lm, corpus, tmp_path, parts=["methods"], settings=settings)
    assert not (tmp_path / "report.html").exists()
    monkeypatch.setattr(Experiment, "probe", real)
    resumed = reproduce(lm, corpus, tmp_path, parts=["methods"], settings=settings)
    assert to_json(resumed.parts["methods"]) == to_json(done[1].parts["methods"])
    text = (tmp_path / "report.md").read_text("utf-8")
    assert re.search(r"Probing with FIRST +\| +[\d.]+ \| +earlier run", text)
    assert re.search(r"Probing with LAST +\| +[\d.]+ \| +this run", text)


@pytest.mark.slow
def test_cached_targets_are_used(done, lm, corpus, settings, tmp_path):
    stage = next(done[0].glob("cache/one-token-approximation-*"))
    ready = WordEmbeddings.load(stage / "embeddings.safetensors")
    given = ready.subset(list(ready.words)[1:])
    entries = sample_dataset(wnlampro.load(), settings)
    inputs = lm, corpus, entries, settings, Stages(tmp_path)
    made = Experiment(*inputs, given).approximations
    assert set(made.words) == set(ready.words)
    (stage,) = tmp_path.glob("one-token-approximation-*")
    assert list(WordEmbeddings.load(stage / "embeddings.safetensors")) == [ready.words[0]]
    np.testing.assert_allclose(made[ready.words[0]], ready[ready.words[0]], atol=1e-5)
    other = WordEmbeddings(["kumquat"], np.ones((1, lm.dim), np.float32), {"fingerprint": "0" * 16})
    with refused_with("model-mismatch"):
        Experiment(*inputs, other)


def test_words_that_cannot_be_approximated_are_not_missing(corpus, settings, tmp_path):
    albert = LanguageModel(*small_model("albert"))
    ready = WordEmbeddings(["kumquat"], np.ones((1, albert.dim), np.float32))
    inputs = albert, corpus, wnlampro.load(), settings, Stages(tmp_path)
    experiment = Experiment(*inputs, ready)
    vars(experiment).update(shown_words=["kumquat", "日本"], training_targets=[])
    assert experiment.approximations.words == ["kumquat"]


def test_examples_show_subwords_as_text_for_any_tokenizer(settings):
    roberta = LanguageModel(*small_model("roberta"))
    experiment = SimpleNamespace(
        lm=roberta, settings=settings, corpus=SimpleNamespace(count=len), training=lambda *_: {settings.epochs[-1]: {}}
    )
    found = ExamplesPart.run(experiment, None)
    assert all("Ġ" not in one.question for one in found.queries)
    assert [one.question.replace("·", "") for one in found.queries] == [
        pattern.replace("<W>", word) for word, pattern, _, _ in published.EXAMPLES
    ]


@pytest.mark.slow
def test_a_report_can_be_written_from_results_alone(done, lm, corpus, settings, tmp_path):
    folder, found = done
    shutil.copytree(folder / "results", tmp_path / "moved" / "results")  # without the cache
    left = tmp_path / "moved" / "results" / ".main.json.abcdefgh.part"  # by a run that was killed
    left.mkdir()
    (left / "main.json").write_text("half")
    os.utime(left, (0, 0))
    again = reproduce(lm, corpus, tmp_path / "moved", parts=["report"], settings=settings)
    assert to_json(again.parts) == to_json(found.parts)
    assert [claim.verdict for claim in again.claims] == [claim.verdict for claim in found.claims]
    text = (tmp_path / "moved" / "report.md").read_text("utf-8")
    assert "| Probing with OTA " in text
    assert "earlier run" in text
    assert not (tmp_path / "moved" / "cache").exists()
    assert not left.exists()
    with refused_with("missing-file"):
        reproduce(lm, corpus, tmp_path / "empty", parts=["report"], settings=settings)


@pytest.mark.slow
def test_the_page_needs_nothing_but_itself_and_says_it_is_a_sample(done):
    folder, found = done
    html = found.report.read_text("utf-8")
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", html)
    assert "@import" not in html
    assert "url(" not in html
    assert "This is a run of the sample" in html
    for part in PARTS.values():
        assert f">{part.title}</h2>" in html
    for link in re.findall('href="#([^"]+)"', html):
        assert f'id="{link}"' in html
    figures = sorted(path.name for path in (folder / "figures").iterdir())
    assert figures == ["heatmap.svg", "methods.svg", "ota.svg"]
    assert html.count("data:image/svg+xml;base64,") == len(figures)


@pytest.mark.slow
def test_the_report_has_what_a_reader_needs(done):
    folder, found = done
    text = (folder / "report.md").read_text("utf-8")
    for needed in (
        "## The paper's conclusions",
        "### Where and why ours differs",
        "## Inputs, settings and environment",
        "## What it cost",
        "| Probing with OTA ",
        "| Probing with AM+context, seed 0 ",
        "| Probing with AM+context, seed 1 ",
        "Repeat: `python -m experiments.paper ",
        "Means of 2 seeds",
        "paper: base+AM",
        "(figures/heatmap.svg)",
    ):
        assert needed in text, needed
    for claim in found.claims:
        assert f"- **{claim.verdict}** {claim.statement}" in text
        assert f"Test: {claim.test}." in text
    stored = json.loads((folder / "results" / "claims.json").read_text())
    assert [one["verdict"] for one in stored] == [claim.verdict for claim in found.claims]


def test_unknown_parts_are_refused():
    assert check_parts(["main", "ota", "main"]) == ["ota", "main"]
    assert check_parts(["all"]) == list(PARTS)
    for parts in (["everything"], ["report", "main"], []):
        with refused_with("usage"):
            check_parts(parts)


@pytest.mark.slow
def test_several_processes_make_the_same_results(done, lm, corpus, settings, tmp_path):
    found = reproduce(lm, corpus, tmp_path, parts=["main"], settings=settings, workers=2)
    assert to_json(found.parts["main"]) == to_json(done[1].parts["main"])
    # Each training was made once, and by the workers: the parts only found it.
    report = (tmp_path / "report.md").read_text("utf-8")
    assert len(list(tmp_path.glob("cache/training-am+context-*"))) == settings.seeds
    assert "Training AM+context, seed 1" in report

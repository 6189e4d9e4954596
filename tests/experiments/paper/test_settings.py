"""The paper's sizes, samples of them, and the sample of WNLaMPro."""

from collections import Counter
from dataclasses import replace

from experiments.paper.settings import CONFIGURATIONS, QUICK, ReproduceSettings, sample, sample_dataset
from rarewords import wnlampro
from rarewords.wnlampro.dataset import band_of
from tests.errors import refused_with


def test_the_default_is_the_papers_experiment_with_three_seeds():
    full = ReproduceSettings()
    assert full.whole
    assert full.training_seeds == (0, 1, 2)
    am, context = full.mimic("am", 3), full.mimic("am+context", 3)
    assert (am.epochs, am.seed, am.min_count, am.copies_max) == (10, 3, 100, 5)
    assert (context.contexts_min, context.ngram_dropout) == (8, 0.1)
    assert full.epochs == (5, 10)
    assert (full.curve_words, full.curve_steps, full.ota_steps) == (1000, 5000, 100)
    assert [name for name, one in CONFIGURATIONS.items() if not one.ota] == ["no-ota"]
    assert not full.mimic("no-form", 0).form
    assert not full.mimic("no-context", 0).context


def test_a_sample_is_smaller_and_has_one_seed_unless_asked():
    quick = replace(QUICK, seed=2)
    assert not quick.whole
    assert quick.training_seeds == (2,)
    assert replace(QUICK, seeds=3).training_seeds == (0, 1, 2)
    assert ReproduceSettings(seeds=5, seed=1).whole
    assert quick.ota_steps < 100
    assert quick.mimic("am", 0).epochs == QUICK.epochs[-1]


def test_sizes_that_make_no_sense_are_refused():
    with refused_with("settings"):
        ReproduceSettings(curve_words=0)
    with refused_with("settings"):
        ReproduceSettings(epochs=(5, 5))
    with refused_with("settings"):
        ReproduceSettings(seed=-1)


def test_a_sample_has_entries_of_every_cell():
    whole = wnlampro.load()
    found = sample_dataset(whole, QUICK)
    cells = Counter((entry.subset, entry.relation, band_of(entry.word.count)) for entry in found)
    everything = Counter((entry.subset, entry.relation, band_of(entry.word.count)) for entry in whole)
    assert cells == {cell: min(number, QUICK.cell_entries) for cell, number in everything.items()}
    assert set(found) < set(whole)
    assert sample_dataset(whole, QUICK).digest == found.digest
    assert sample_dataset(whole, replace(QUICK, seed=1)).digest != found.digest
    assert sample_dataset(whole, ReproduceSettings()) is whole


def test_a_choice_depends_on_the_seed_alone():
    words = [f"word{number}" for number in range(100)]
    chosen = sample(words, 12, seed=0)
    assert chosen == sample(words, 12, seed=0) != sample(words, 12, seed=1)
    assert chosen[:5] == sample(words, 5, seed=0)
    assert sorted(sample(words, 200, seed=0)) == sorted(words)

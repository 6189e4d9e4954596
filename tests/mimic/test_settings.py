"""The presets and what settings refuse."""

from rarewords.mimic.settings import preset
from tests.errors import refused_with


def test_presets_are_the_papers():
    am, more = preset("am"), preset("am+context")
    assert am.ngram_threshold == 4
    assert (am.contexts_min, am.contexts_max) == (1, 64)
    assert (am.ngram_dropout, am.form_dropout, am.scale, am.ngram_limit) == (0.0, 0.0, 0.0, 0)
    assert (am.form, am.context) == (True, True)
    assert (am.learning_rate, am.batch_size, am.epochs, am.min_count) == (0.01, 64, 10, 100)
    assert (am.copies_per_count, am.copies_max) == (100, 5)
    assert more == preset("am", contexts_min=8, ngram_dropout=0.1)


def test_nonsense_is_refused():
    with refused_with("settings"):
        preset("an")
    for changes in (
        {"form": False, "context": False},
        {"contexts_min": 65},
        {"ngram_dropout": 1.0},
        {"scale": -1},
        {"epochs": 0},
    ):
        with refused_with("settings"):
            preset("am", **changes)

"""The presets and what settings refuse."""

import pytest

from rarewords import InputError
from rarewords.mimic.settings import preset


def test_presets_are_the_papers_and_nonsense_is_refused():
    am, more = preset("am"), preset("am+context")
    assert (am.ngram_min, am.ngram_max, am.ngram_threshold) == (3, 5, 4)
    assert (am.contexts_min, am.contexts_max) == (1, 64)
    assert (am.ngram_dropout, am.form_dropout, am.scale, am.ngram_limit) == (0.0, 0.0, 0.0, 0)
    assert (am.form, am.context, am.attention) == (True, True, True)
    assert (am.learning_rate, am.batch_size, am.epochs, am.min_count) == (0.01, 64, 10, 100)
    assert (am.copies_per_count, am.copies_max, am.punctuation) == (100, 5, True)
    assert more == preset("am", contexts_min=8, ngram_dropout=0.1)
    with pytest.raises(InputError, match="no mimic preset 'an'; use am or am"):
        preset("an")
    for changes, message in (
        ({"form": False, "context": False}, "cannot both be off"),
        ({"contexts_min": 65}, "contexts_max must not be below"),
        ({"ngram_dropout": 1.0}, "ngram_dropout must be at least 0 and below 1"),
        ({"scale": -1}, "scale must be at least 0"),
        ({"epochs": 0}, "epochs must be at least 1"),
    ):
        with pytest.raises(InputError, match=message):
            preset("am", **changes)

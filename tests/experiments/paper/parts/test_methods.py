"""The figure of methods."""

from types import SimpleNamespace

import pytest

from experiments.paper.parts.methods import MethodsPart
from rarewords import InputError


def test_a_data_set_without_frequent_words_is_refused_before_it_is_probed(tmp_path):
    """Refused later, it would keep every part of the run from being reported."""
    entries = [SimpleNamespace(word=SimpleNamespace(count=count)) for count in (0, 50)]
    experiment = SimpleNamespace(dataset=entries)
    with pytest.raises(InputError, match="no frequent words"):
        MethodsPart.run(experiment, tmp_path)

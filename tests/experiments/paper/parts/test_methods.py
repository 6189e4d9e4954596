"""The figure of methods."""

from types import SimpleNamespace

from experiments.paper.parts.methods import MethodsPart
from tests.errors import refused_with


def test_a_data_set_without_frequent_words_is_refused_before_it_is_probed(tmp_path):
    """Refused later, it would keep every part of the run from being reported."""
    entries = [SimpleNamespace(word=SimpleNamespace(count=count)) for count in (0, 50)]
    experiment = SimpleNamespace(dataset=entries)
    with refused_with("wnlampro"):
        MethodsPart.run(experiment, tmp_path)

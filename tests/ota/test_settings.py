"""Presets, and settings that are refused."""

import pytest

from rarewords.errors import InputError
from rarewords.ota.settings import OtaSettings


def test_the_presets():
    paper = OtaSettings.preset("paper")
    assert (paper.frame, paper.start, paper.layers) == ("random", "zero", None)
    assert (paper.steps, paper.rate, paper.newton, paper.balanced) == (4000, 1e-3, False, False)
    assert OtaSettings.preset("fast") == OtaSettings()
    assert OtaSettings.preset("paper", steps=7, layers=(1, 2)).to_dict()["layers"] == [1, 2]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"frame": "round"}, "frame must be one of static"),
        ({"start": "middle"}, "start must be one of zero"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"rate": 0.0}, "rate must be above 0"),
        ({"layers": ()}, "layers must name"),
        ({"layers": (1, -1)}, "layers must name"),
        ({"layers": ("one",)}, "layers must name"),
    ],
)
def test_wrong_settings_are_refused(changes, part):
    with pytest.raises(InputError, match=part):
        OtaSettings.preset("fast", **changes)

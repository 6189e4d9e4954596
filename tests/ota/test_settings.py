"""Presets, and settings that are refused."""

import pytest

from rarewords.ota.settings import OtaSettings
from tests.errors import refused_with


def test_the_presets():
    paper = OtaSettings.preset("paper")
    assert (paper.frame, paper.start, paper.layers) == ("random", "zero", None)
    assert (paper.steps, paper.rate, paper.newton, paper.balanced) == (4000, 1e-3, False, False)
    assert OtaSettings.preset("fast") == OtaSettings()
    assert OtaSettings.preset("paper", steps=7, layers=(1, 2)).layers == (1, 2)


@pytest.mark.parametrize(
    "changes",
    [
        {"frame": "round"},
        {"start": "middle"},
        {"steps": 0},
        {"rate": 0.0},
        {"layers": ()},
        {"layers": (1, -1)},
        {"layers": ("one",)},
    ],
)
def test_wrong_settings_are_refused(changes):
    with refused_with("settings"):
        OtaSettings.preset("fast", **changes)


def test_an_unknown_preset_is_refused():
    with refused_with("settings"):
        OtaSettings.preset("slow")

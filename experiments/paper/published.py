"""The paper's own figures and conclusions, which ``published.toml`` holds."""

import tomllib
from importlib.resources import files
from typing import Any

_PAPER: dict[str, Any] = tomllib.loads((files("experiments.paper") / "published.toml").read_text("utf-8"))
CORPUS_WORDS: int = _PAPER["corpus_words"]
OTA_CURVES: dict[str, dict[int, float]] = {
    frame: dict(zip((1, 10, *range(100, 5001, 100)), curve, strict=True))
    for frame, curve in _PAPER["ota_curves"].items()
}
METHODS: dict[str, list[float]] = _PAPER["methods"]
ABLATION: dict[str, list[float]] = _PAPER["ablation"]
MAIN: dict[str, dict[str, list[float]]] = _PAPER["main"]
HEAT_MAP_COUNT: int = _PAPER["heat_map_count"]
HEAT_MAP_RANK: int = _PAPER["heat_map_rank"]
EXAMPLES: list[list[str]] = _PAPER["examples"]
RIGHT = {word: set(answers.split()) for word, answers in _PAPER["right"].items()}
CLAIMS: dict[str, dict[str, str]] = {
    name: {**claim, "test": claim["test"].format(**_PAPER["tests"])} for name, claim in _PAPER["claims"].items()
}

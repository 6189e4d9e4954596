"""The README.md of a model folder that has been taught words, from ``assets/card.toml``."""

import json
import tomllib
from collections.abc import Iterable, Set
from importlib.resources import files
from pathlib import Path

from rarewords.models import BUNDLED_NAME, DEFAULT_MODEL, Kind
from rarewords.vectors import WordVectors

_ASSETS = files("rarewords") / "assets"
CARD = tomllib.loads((_ASSETS / "card.toml").read_text("utf-8"))
_WORDS_SHOWN = 200


def model_card(
    base: str,
    vectors: WordVectors,
    words: Iterable[str],
    *,
    predictable: bool,
    slash: Set[bool],
    kind: Kind,
    folder: str | Path,
) -> str:
    """The card: what the folder is, which words it was taught with which settings, and how to load it.

    :param base: the name of the base model, not its path.
    :param slash: whether words are read as pieces and vector; both if some are and some are not.
    :param folder: the base model's own; licence, language and base model of its card are passed on.
    """
    words, about = sorted(words), CARD[kind]
    rest = f" … and {len(words) - _WORDS_SHOWN} more" if len(words) > _WORDS_SHOWN else ""
    inherited = _inherited(folder)
    if "base_model:" not in inherited and "/" in base:  # a name on the hub
        inherited += f"base_model: {base}\n"
    text: str = CARD["text"].format(
        **about,
        inherited=inherited,
        base=base,
        number=len(words),
        noun="word" if len(words) == 1 else "words",
        read=CARD["read"]["mixed" if len(slash) > 1 else "behind" if True in slash else "alone"],
        answered=about["predictable" if predictable else "unsaid"],
        words=", ".join(words[:_WORDS_SHOWN]) + rest,
        settings=json.dumps(vectors.settings, indent=1, sort_keys=True),
    )
    return text


def _inherited(folder: str | Path) -> str:
    """The lines of a model's card that hold for what is made from it."""
    card = (_ASSETS / BUNDLED_NAME if str(folder) == DEFAULT_MODEL else Path(folder)) / "README.md"
    if not folder or not card.is_file():
        return ""
    header = card.read_text("utf-8").split("---\n")
    lines = header[1].splitlines() if len(header) > 2 and not header[0] else []
    names = ("license", "language", "base_model")
    return "".join(f"{line}\n" for line in lines if line.startswith(names) and not line.endswith(":"))

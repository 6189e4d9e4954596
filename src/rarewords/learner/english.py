"""English words by what they tell about a word beside them, from ``assets/english.toml``."""

import tomllib
from importlib.resources import files

_TABLE = tomllib.loads((files("rarewords") / "assets" / "english.toml").read_text("utf-8"))
ENGLISH = {name: frozenset(words.split()) for name, words in _TABLE.items()}
FUNCTION_WORDS = ENGLISH["function"]

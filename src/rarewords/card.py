"""The README.md of a model folder that has been taught words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from rarewords.models import BUNDLED_NAME, DEFAULT_MODEL, Kind
from rarewords.vectors import WordVectors

_WORDS_SHOWN = 200
_AUTO = """from transformers import {0}, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("THIS_FOLDER")
model = {0}.from_pretrained("THIS_FOLDER")"""
_SENTENCE = """from sentence_transformers import SentenceTransformer

model = SentenceTransformer("THIS_FOLDER")"""
# The library and the task of a model's kind, and how to load it.
_KINDS: dict[Kind, tuple[str, str, str]] = {
    "masked": ("transformers", "fill-mask", _AUTO.format("AutoModelForMaskedLM")),
    "encoder": ("sentence-transformers", "sentence-similarity", _SENTENCE),
    "causal": ("transformers", "text-generation", _AUTO.format("AutoModelForCausalLM")),
}

_UNSAID: dict[Kind, str] = {
    "masked": "; it does not have them among its first hundred answers",
    "encoder": "",
    "causal": "; `generate` does not write them",
}


def model_card(
    base: str,
    vectors: WordVectors,
    ids: Mapping[str, int],
    *,
    predictable: bool,
    slash: bool | None,
    kind: Kind = "masked",
    folder: str | Path = "",
) -> str:
    """The card: what the folder is, which words it was taught with which settings, and how to load it.

    :param slash: how words are read: as pieces and vector, as the vector alone, or (None) some each way.
    :param folder: the base model's own; licence, language and base model of its card are passed on.
    """
    words = sorted(ids)
    shown = ", ".join(words[:_WORDS_SHOWN])
    rest = f" … and {len(words) - _WORDS_SHOWN} more" if len(words) > _WORDS_SHOWN else ""
    read = {
        True: "its pieces, a slash and a token with its own vector",
        False: "one token with its own vector",
        None: "one token with its own vector, some behind their pieces and a slash",
    }[slash]
    unsaid = _UNSAID[kind] if not predictable or kind == "encoder" else "; it may answer with them"
    library, task, loading = _KINDS[kind]
    base_line = _inherited(folder)
    if "base_model:" not in base_line and "/" in base and not base.startswith(("/", ".")):
        base_line += f"base_model: {base}\n"
    return f"""---
library_name: {library}
pipeline_tag: {task}
tags: [rarewords]
{base_line}---
# {base}, with {len(words):,} more {"word" if len(words) == 1 else "words"}

This is `{base}` with {len(words):,} words added by rarewords. Write them as usual; each is read as {read}.
Text without these words is tokenized as before and gives the same outputs. The model reads the new
words{unsaid}.

```python
{loading}
```

## Words

{shown}{rest}

## Settings of the vectors

```json
{json.dumps(vectors.settings, indent=1, sort_keys=True)}
```
"""


def _inherited(folder: str | Path) -> str:
    """The lines of a model's card that hold for what is made from it."""
    bundled = files("rarewords") / "assets" / BUNDLED_NAME
    card = (bundled if str(folder) == DEFAULT_MODEL else Path(folder)) / "README.md"
    if not folder or not card.is_file():
        return ""
    header = card.read_text("utf-8").split("---\n")
    lines = header[1].splitlines() if len(header) > 2 and not header[0] else []
    names = ("license", "language", "base_model")
    return "".join(f"{line}\n" for line in lines if line.startswith(names) and not line.endswith(":"))

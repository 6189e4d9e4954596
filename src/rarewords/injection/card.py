"""The model card of a folder with added words, from ``assets/card.toml``."""

import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from huggingface_hub import EvalResult, ModelCard, ModelCardData
from yaml import YAMLError  # type: ignore[import-untyped]

from rarewords.injection.vocabulary import normalized, own_normalizer
from rarewords.models import Kind

_CARD = files("rarewords") / "assets" / "card.toml"
KINDS: dict[str, Any] = tomllib.loads(_CARD.read_text("utf-8"))
_WORDS_SHOWN = 200
_INHERITED = ("license", "license_name", "license_link", "language", "base_model", "datasets")


def model_card(
    base: str,
    words: Iterable[str],
    *,
    kind: Kind,
    folder: Path | None,
    allow_prediction: bool = False,
    details: str = "",
    gain: float | None = None,
) -> str:
    """What the model is, which words were added, and how to load it.

    :param base: the name of the base model; ``folder``: where it is, for the licence and language of its card.
    :param details: Markdown on how the words were checked.
    :param gain: the mean gain in held-out sentences, for the metadata.
    """
    words, about = sorted(words), KINDS[kind]
    data: dict[str, Any] = {"library_name": about["library"], "pipeline_tag": about["task"]}
    data |= {"tags": ["rarewords"], **_inherited(folder)}
    if "/" in base:  # a name on the hub
        data.setdefault("base_model", base)
    results = None
    if gain is not None:
        results = [
            EvalResult(
                task_type=about["task"],
                dataset_type="text",
                dataset_name="held-out sentences of the text",
                metric_type="gain",
                metric_name=f"mean change of {about['measure']}",
                metric_value=round(gain, 4),
            )
        ]
    rest = f" … and {len(words) - _WORDS_SHOWN} more" if len(words) > _WORDS_SHOWN else ""
    noun = "word" if len(words) == 1 else "words"
    text = KINDS["text"].format(
        base=base,
        number=len(words),
        noun=noun,
        loading=about["loading"].strip(),
        answered=about["allow_prediction" if allow_prediction else "unsaid"],
        words=", ".join(words[:_WORDS_SHOWN]) + rest,
        details=details,
    )
    name = f"{base} with {len(words):,} more {noun}"
    header = ModelCardData(model_name=name, eval_results=results, **data).to_yaml()
    return str(ModelCard(f"---\n{header}\n---\n{text}"))


def without_forms(forms: Iterable[str], tokenizer: Any, report: Mapping[str, Any]) -> list[str]:
    """The added words, without the forms that came along with them: not ``kumquats`` beside ``kumquat``.

    :param forms: all that have tokens; ``report``: says which came along.
    """
    own = own_normalizer(tokenizer)
    words = [word for run in (*report.get("earlier", ()), report) for word in run.get("words", ())]
    along = {normalized(own, form) for word in words for form in word.get("forms", ())}
    along -= {normalized(own, word["word"]) for word in words}
    return [form for form in forms if form not in along]


def _inherited(folder: Path | None) -> dict[str, Any]:
    """What the card of a model says that holds for what is made from it."""
    if folder is None or not (folder / "README.md").is_file():
        return {}
    try:
        data = ModelCard((folder / "README.md").read_text("utf-8"), ignore_metadata_errors=True).data.to_dict()
    except (YAMLError, ValueError, TypeError, AttributeError):  # metadata that is not YAML, or has no names
        return {}
    return {name: data[name] for name in _INHERITED if data.get(name)}

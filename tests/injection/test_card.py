"""The model card: metadata that the hub reads, and what it takes over from the card of the base model."""

import pytest
import yaml
from huggingface_hub import ModelCard

from rarewords.injection.card import model_card

BASE_CARD = """---
language:
- en
- de
- multilingual
license: other
license_name: own
license_link: https://example.com/license
datasets:
- wikipedia
tags:
- feature-extraction
pipeline_tag: feature-extraction
widget:
- text: not passed on
---
# The base model
"""


def front_matter(card):
    """The metadata of a card, as any YAML parser reads them."""
    _, header, _ = card.split("---\n", 2)
    return yaml.safe_load(header)


@pytest.mark.parametrize(
    ("kind", "library", "task"),
    [
        ("masked", "transformers", "fill-mask"),
        ("encoder", "sentence-transformers", "sentence-similarity"),
        ("causal", "transformers", "text-generation"),
    ],
)
def test_the_metadata_names_library_task_tags_and_the_gain(kind, library, task):
    data = front_matter(model_card("someone/model", ["b", "a"], kind=kind, folder=None, gain=0.25))
    assert (data["library_name"], data["pipeline_tag"]) == (library, task)
    assert data["tags"] == ["rarewords"]
    assert data["base_model"] == "someone/model"
    (entry,) = data["model-index"]
    assert entry["name"] == "someone/model with 2 more words"
    (result,) = entry["results"]
    assert result["task"]["type"] == task
    (metric,) = result["metrics"]
    assert (metric["type"], metric["value"]) == ("gain", 0.25)


def test_without_a_gain_there_is_no_model_index():
    assert "model-index" not in front_matter(model_card("model", ["a"], kind="masked", folder=None))


def test_licence_and_language_of_the_base_card_are_kept_and_its_tags_are_not(tmp_path):
    (tmp_path / "README.md").write_text(BASE_CARD, "utf-8")
    data = front_matter(model_card("mine", ["a"], kind="encoder", folder=tmp_path))
    assert data["language"] == ["en", "de", "multilingual"]
    assert data["license"] == "other"
    assert data["license_name"] == "own"
    assert data["license_link"] == "https://example.com/license"
    assert data["datasets"] == ["wikipedia"]
    assert data["tags"] == ["rarewords"]
    assert data["pipeline_tag"] == "sentence-similarity"
    assert "widget" not in data


def test_the_card_of_a_card_keeps_language_and_base_model(tmp_path):
    (tmp_path / "README.md").write_text(BASE_CARD, "utf-8")
    card = model_card("someone/model", ["a"], kind="encoder", folder=tmp_path)
    (tmp_path / "README.md").write_text(card, "utf-8")
    data = front_matter(model_card("someone/model", ["a", "b"], kind="encoder", folder=tmp_path))
    assert data["language"] == ["en", "de", "multilingual"]
    assert data["base_model"] == "someone/model"


@pytest.mark.parametrize(
    "text",
    [
        "no metadata at all\n",
        "---\n- a\n- list\n---\n",
        "---\nlanguage: [en\n---\n",
        "---\nlicense: {a: [1, 2]}\nmodel-index: 5\n---\n",
        "---\n",
        "",
    ],
)
def test_a_base_card_with_broken_metadata_does_no_harm(text, tmp_path):
    (tmp_path / "README.md").write_text(text, "utf-8")
    data = front_matter(model_card("mine", ["a"], kind="masked", folder=tmp_path))
    assert data["tags"] == ["rarewords"]


def test_names_that_mean_something_in_yaml_stay_what_they_are():
    name = 'a: "b" # {c}'
    data = front_matter(model_card(name, ["on", "a: b", "- c"], kind="masked", folder=None, gain=0.0))
    assert data["model-index"][0]["name"] == f"{name} with 3 more words"
    assert "base_model" not in data  # no name on the hub


def test_the_card_lists_the_words_by_the_alphabet_and_at_most_two_hundred():
    words = [f"w{number:03}" for number in range(250)]
    text = ModelCard(model_card("mine", reversed(words), kind="masked", folder=None)).text
    assert ", ".join(words[:200]) + " … and 50 more" in text
    assert "# mine with 250 more words" in text


def test_the_card_says_whether_the_model_answers_with_the_words():
    silent, open_ = (
        model_card("mine", ["a"], kind="masked", folder=None, allow_prediction=one) for one in (False, True)
    )
    assert "does not answer with them" in silent
    assert "may answer with them" in open_


def test_the_card_says_what_the_model_is_for_and_whom_to_cite():
    text = ModelCard(model_card("mine", ["a"], kind="encoder", folder=None)).text
    for part in ("## Intended use", "## Limitations", "## Citation", "Attentive Mimicking", "BERTRAM"):
        assert part in text

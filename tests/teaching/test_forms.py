"""Plurals, other inflections and capitals come along with a taught word."""

import numpy as np
import pytest

from rarewords import LanguageModel, TeachSettings, WordEmbeddings, teach
from rarewords.injection.forget import affected, forget, taught_words
from rarewords.teaching.forms import entries_with_forms, inflection_offsets
from tests.architectures import small_causal, small_model

NOTHING = {}.get


def embeddings_for(words, lm):
    numbers = np.random.default_rng(0).standard_normal((len(words), lm.dim)).astype(np.float32) * 0.05
    return WordEmbeddings(words, numbers)


def forms(lm, words, *, placement="replace", whole=(), text=None):
    count = dict.fromkeys(text or (), 3).get
    given = embeddings_for(words, lm)
    return entries_with_forms(given, lm, placement=placement, whole=whole, count=lambda form: count(form, 0))


@pytest.fixture(scope="module")
def lm():
    return LanguageModel.from_pretrained()


def test_wordpiece_covers_the_regular_plural_and_others_get_entries(lm):
    rows, along = forms(lm, ["kumquat", "cloudberry"])
    assert along == {"kumquat": ("kumquats",), "cloudberry": ("cloudberries",)}
    assert list(rows.words) == ["kumquat", "cloudberry", "cloudberries"]


def test_a_word_that_is_kept_apart_gets_entries_for_its_forms(lm):
    rows, along = forms(lm, ["cur"], whole=["cur"])
    assert along == {"cur": ("curs",)}
    assert list(rows.words) == ["cur", "curs"]


def test_other_inflections_come_along_if_the_text_has_them(lm):
    _, along = forms(lm, ["rebadge"], placement="append", text=["rebadging"])
    assert along == {"rebadge": ("rebadges", "rebadging")}


def test_only_a_cased_model_gets_forms_with_capitals():
    cased = LanguageModel(*small_model("roberta"))
    rows, along = forms(cased, ["torvane", "C++"])
    assert along == {"torvane": ("torvanes", "Torvane", "Torvanes"), "C++": ()}
    np.testing.assert_array_equal(rows["Torvane"], rows["torvane"])


def test_a_plural_differs_from_its_word_as_the_plurals_that_the_model_knows_do(lm):
    rows, _ = forms(lm, ["cloudberry"])
    offset = inflection_offsets(lm)[0]
    np.testing.assert_allclose(rows["cloudberries"], rows["cloudberry"] + offset, rtol=1e-5)
    river, rivers = (lm.embeddings[lm.whole_words[word]].numpy() for word in ("river", "rivers"))
    assert (rivers - river) @ offset > 0


def test_forms_are_reported_found_in_documents_and_forgotten_with_their_word(tmp_path):
    lm = LanguageModel(*small_causal("llama"))
    lines = ["A blimpet is small and red.", "She ate a blimpet and a plum.", "Two blimpets lay there on it."]
    result = teach(lm, texts=lines, words=["blimpet"], settings=TeachSettings(keep_all=True), device="cpu")
    (word,) = result.words
    assert word.forms == ("blimpets", "Blimpet", "Blimpets")
    result.save_pretrained(tmp_path / "taught")
    assert [one.word for one in taught_words(tmp_path / "taught")] == ["blimpet"]
    texts = enumerate(["no", "Blimpets!", "a blimpet"])
    assert list(affected(tmp_path / "taught", texts)) == [(1, ("blimpet",)), (2, ("blimpet",))]
    assert forget(tmp_path / "taught", ["blimpet"], tmp_path / "fewer") == []
    assert taught_words(tmp_path / "fewer") == []


def test_a_word_that_begins_others_is_kept_apart_and_the_report_says_from_which():
    lines = ["The cur barked at me.", "A cur is a bad dog.", "He drank curacao on Curacao."]
    result = teach(texts=lines, words=["cur"], settings=TeachSettings(keep_all=True, placement="replace"))
    assert result.words[0].apart.startswith("cur")
    before = LanguageModel.from_pretrained().tokenizer.tokenize(lines[2])
    assert result.tokenizer.tokenize(lines[2]) == before
    assert len(result.tokenizer.tokenize("cur")) == 1


def test_a_listed_form_is_taught_even_if_the_text_has_only_another(lm):
    lines = ["She ate a quillop.", "A quillop is a small fruit.", "The quillop was sour and red."]
    (word,) = teach(lm, texts=lines, words=["quillops"], settings=TeachSettings(keep_all=True)).words
    assert (word.word, word.contexts) == ("quillops", 3)

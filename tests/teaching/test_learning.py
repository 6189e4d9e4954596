"""A search of the text finds the words that would gain, and passes over those read well in pieces."""

import pytest

from rarewords import InputError, WordLearner
from rarewords.corpus.build import build
from rarewords.stages import Stages
from rarewords.teaching.learning import READ_WELL, those_that_gain
from rarewords.teaching.scan import choose_words
from rarewords.teaching.settings import TeachSettings
from tests.teaching.invented import sentences_of

KNOWN = """
He died of a hypothyroidism that no doctor had found.
Hypothyroidism is a disease of the thyroid and makes people tired.
Diseases such as hypothyroidism and diabetes are common in old age.
Her illness was hypothyroidism, and she was treated for years.
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("need")
    (folder / "text.txt").write_text(KNOWN + sentences_of("torvane", "yurla", "jorrin", most=5), "utf-8")
    return build([folder / "text.txt"], folder / "store", workers=1)


def gaining(lm, store, folder, chosen, **settings):
    asked = (WordLearner.for_model(lm), store, chosen, TeachSettings(**settings))
    return those_that_gain(*asked, Stages(folder))


def test_words_that_are_read_well_in_pieces_are_passed_over(lm, store, tmp_path):
    chosen = choose_words(store, lm.tokens, TeachSettings())
    assert set(chosen.counts) == {"hypothyroidism", "torvane", "yurla", "jorrin"}
    found = gaining(lm, store, tmp_path, chosen)
    assert set(found.counts) == {"torvane", "yurla", "jorrin"}
    assert found.passed_over == {"hypothyroidism": READ_WELL}
    assert set(gaining(lm, store, tmp_path, chosen, top=2).counts) < set(found.counts)
    assert gaining(lm, store, tmp_path, chosen, keep_all=True).counts == chosen.counts


def test_what_was_looked_at_is_kept(lm, store, tmp_path, monkeypatch):
    chosen = choose_words(store, lm.tokens, TeachSettings())
    found = gaining(lm, store, tmp_path, chosen)
    monkeypatch.setattr(WordLearner, "infer_each", None)
    assert gaining(lm, store, tmp_path, chosen) == found


def test_if_no_word_would_gain_the_remedy_is_named(lm, store, tmp_path):
    chosen = choose_words(store, lm.tokens, TeachSettings(), ["hypothyroidism"])
    with pytest.raises(InputError, match=r"reads all 1 words .* give a list of words with --words"):
        gaining(lm, store, tmp_path, chosen)

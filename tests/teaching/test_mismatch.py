"""A search of the text finds the words that would gain, and skips those that the model understands."""

import pytest

from rarewords import Corpus, TeachSettings, WordLearner
from rarewords._internal.cache import Cache
from rarewords.teaching.candidates import check_for
from rarewords.teaching.mismatch import UNDERSTOOD, search
from rarewords.teaching.words import count_words, missing_words, without_clutter
from tests.teaching.invented import sentences_of

INVENTED = {"torvane", "yurla", "jorrin"}
KNOWN = """
He died of a hypothyroidism that no doctor had found.
Hypothyroidism is a disease of the thyroid and makes people tired.
Diseases such as hypothyroidism and diabetes are common in old age.
Her illness was hypothyroidism, and she was treated for years.
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mismatch")
    (folder / "text.txt").write_text(KNOWN + sentences_of(*sorted(INVENTED), most=5), "utf-8")
    return Corpus.build(folder / "text.txt", folder / "corpus", workers=1)


def searched(lm, corpus, folder, *, top=1000, keep_all=False):
    frequent = {word: count for word, count in count_words(corpus).items() if count >= 4}
    missing = missing_words(frequent, lm.tokens)
    found, readings = search(
        without_clutter(corpus, missing, lm.tokens, "append", frozenset()),
        TeachSettings(top=top, keep_all=keep_all),
        corpus,
        WordLearner.for_model(lm),
        check_for(lm, lm, "append", found=False),
        Cache(folder),
    )
    assert list(readings) == chosen(found)
    return found


def chosen(found):
    return [one.word for one in found if not one.skipped]


def test_words_that_the_model_understands_are_skipped(lm, corpus, tmp_path):
    found = {one.word: one for one in searched(lm, corpus, tmp_path)}
    assert set(found) == {"hypothyroidism", *INVENTED}
    assert found["hypothyroidism"].skipped == UNDERSTOOD
    for word in INVENTED:
        assert not found[word].skipped
        assert found[word].mismatch > found["hypothyroidism"].mismatch
        assert found[word].mismatch_drop > found["hypothyroidism"].mismatch_drop
        assert len(found[word].answers) == 3


def test_the_search_ends_when_enough_words_are_found(lm, corpus, tmp_path):
    every, two = (searched(lm, corpus, tmp_path / str(top), top=top) for top in (1000, 2))
    assert chosen(two) == chosen(every)[:2]
    assert two == every[: len(two)]


def test_keep_all_keeps_understood_words_in_the_same_order(lm, corpus, tmp_path):
    found = searched(lm, corpus, tmp_path)
    kept = searched(lm, corpus, tmp_path / "kept", keep_all=True)
    assert [one.word for one in kept] == [one.word for one in found]
    assert chosen(kept) == [one.word for one in kept]


def test_what_was_looked_at_is_kept(lm, corpus, tmp_path, monkeypatch):
    found = searched(lm, corpus, tmp_path)
    monkeypatch.setattr(WordLearner, "learn_each", lambda *_: pytest.fail("looked at before"))
    assert searched(lm, corpus, tmp_path) == found

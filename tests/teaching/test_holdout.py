"""Which contexts are held out."""

import pytest

from rarewords.corpus.corpus import Context
from rarewords.teaching.glossary import GlossaryEntry
from rarewords.teaching.holdout import hold_out, hold_out_contexts
from rarewords.teaching.settings import TeachSettings


def divided(count, **settings):
    numbered = [Context(f"Sentence {number} has a blimpet.", 17, 24) for number in range(count)]
    return hold_out_contexts("blimpet", count, numbered, TeachSettings(**settings))


@pytest.mark.parametrize(("count", "held_out", "learned"), [(16, 4, 12), (31, 8, 16), (60, 8, 16)])
def test_of_many_contexts_a_quarter_is_held_out_and_not_learned_from(count, held_out, learned):
    found = divided(count)
    (fold,) = found.folds
    checked = {sentence for sentence, _, _ in fold.held_out}
    assert (len(checked), len(found.contexts)) == (held_out, learned)
    assert checked.isdisjoint(found.contexts)
    assert fold.contexts == found.contexts  # the embedding that is checked is the one that is taught


@pytest.mark.parametrize("count", [2, 3, 4, 5, 12, 15])
def test_of_few_contexts_eight_at_most_are_checked_with_an_embedding_of_the_others(count):
    found = divided(count)
    assert len(found.contexts) == count
    assert len(found.folds) == min(4, count)
    checked = [context.sentence for fold in found.folds for context in fold.held_out]
    assert len(set(checked)) == len(checked) == min(8, count)
    for fold in found.folds:
        own = {sentence for sentence, _, _ in fold.held_out}
        assert fold.contexts
        assert own.isdisjoint(fold.contexts)
        assert {*own, *fold.contexts} <= set(found.contexts)


def test_one_context_cannot_check():
    found = divided(1)
    assert (len(found.contexts), found.folds) == (1, ())


def test_settings_bound_the_contexts():
    assert len(divided(60, contexts=5).contexts) == 5
    assert len(divided(9, contexts=5).contexts) == 5


def test_passes_are_contexts_and_twice_those_held_out():
    assert [divided(count).passes for count in (1, 6, 16, 1000)] == [1, 6 + 12, 12 + 8, 16 + 16]
    assert divided(3, contexts=2).passes == 2 + 4


def test_examples_of_a_glossary_are_contexts_and_its_definitions_are_kept():
    entry = GlossaryEntry(("a sour fruit",), ("She ate a blimpet.", "An example without the word."))
    (found,) = hold_out(None, {"blimpet": 0}, TeachSettings(), {"blimpet": entry})
    assert found.contexts == ("She ate a blimpet.",)
    assert found.definitions == ("a sour fruit",)


def test_a_sentence_with_the_word_twice_is_one_context(corpus):
    word = next(word for word in corpus.counts()[0] if _sentences_with_it_twice(corpus, word))
    (found,) = hold_out(corpus, {word: corpus.count(word)}, TeachSettings())
    assert len(set(found.contexts)) == len(found.contexts)


def _sentences_with_it_twice(corpus, word):
    own = [sentence for sentence, _, _ in corpus.contexts(word, 80)]
    return len(own) >= 16 and len(set(own)) < len(own)

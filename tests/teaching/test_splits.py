"""Which contexts are held out."""

import pytest

from rarewords import InputError
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import split_spans


def split(count, **settings):
    numbered = [(f"Sentence {number} has a blimpet.", 17, 24) for number in range(count)]
    return split_spans("blimpet", count, numbered, TeachSettings(**settings))


@pytest.mark.parametrize(("count", "held_out", "learned"), [(16, 4, 12), (31, 7, 24), (60, 8, 32)])
def test_of_many_contexts_a_quarter_is_held_out_and_not_learned_from(count, held_out, learned):
    found = split(count)
    (fold,) = found.folds
    judged = {sentence for sentence, _, _ in fold.held_out}
    assert (len(judged), len(found.contexts)) == (held_out, learned)
    assert judged.isdisjoint(found.contexts)
    assert fold.contexts == found.contexts  # the vector that is judged is the one that is taught


@pytest.mark.parametrize("count", [2, 3, 4, 5, 12, 15])
def test_of_few_contexts_each_is_judged_once_with_a_vector_of_the_others(count):
    found = split(count)
    assert len(found.contexts) == count
    assert len(found.folds) == min(4, count)
    judged = [occurrence[0] for fold in found.folds for occurrence in fold.held_out]
    assert sorted(judged) == sorted(found.contexts)
    for fold in found.folds:
        own = {sentence for sentence, _, _ in fold.held_out}
        assert fold.contexts
        assert own.isdisjoint(fold.contexts)
        assert {*own, *fold.contexts} == set(found.contexts)


def test_one_context_cannot_judge():
    found = split(1)
    assert (len(found.contexts), found.folds) == (1, ())


def test_settings_bound_the_contexts():
    assert len(split(60, contexts=5).contexts) == 5
    assert len(split(9, contexts=5).contexts) == 5


@pytest.mark.parametrize("wrong", [{"rule": "latin"}, {"top": 0}, {"contexts": 0}])
def test_settings_are_checked(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        TeachSettings(**wrong)

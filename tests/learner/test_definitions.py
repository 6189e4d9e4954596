"""Words learned from definitions alone, or from definitions and sentences."""

import numpy as np
import pytest
import torch

from rarewords import Query, WordLearner
from rarewords.learner.definitions import content, head, mean_of_words, senses, sentences_of
from rarewords.learner.evidence import Evidence

GLOSSARY = {
    "paxlovid": ("an oral antiviral pill used to treat COVID-19", "drug"),
    "femicide": ("the killing of a woman because of her gender", "murder"),
    "splinternet": ("an internet split into separate networks by governments", "network"),
    "compersion": ("joy at seeing a partner happy with someone else", "happiness"),
}


@pytest.fixture(scope="module")
def learner(lm):
    return WordLearner.for_model(lm)


def answers(lm, word, embedding=None):
    return lm.fill([Query("a <W> is a kind of _.", word, embedding, "append")], top_k=5).words(0)


def test_one_definition_is_enough(lm, learner):
    for word, (definition, kind) in GLOSSARY.items():
        assert kind not in answers(lm, word)
        learned = learner.learn(word, definition=definition)
        assert kind in answers(lm, word, learned.embedding), word
        assert learned.weights == ()
        assert learned.context_share > 0.5


def test_definitions_and_sentences_are_combined(learner):
    sentences = ["They sold blimpet, apple and cherry.", "Fresh blimpet juice is sold at the market."]
    alone, defined = learner.learn("blimpet", sentences), learner.learn("blimpet", definition="a small boat")
    both = learner.learn("blimpet", sentences, definition="a small boat")
    cosine = torch.cosine_similarity(
        torch.from_numpy(np.stack([alone.embedding, defined.embedding])), torch.from_numpy(both.embedding)[None]
    )
    apart = torch.cosine_similarity(*torch.from_numpy(np.stack([alone.embedding, defined.embedding])), dim=0)
    assert (cosine > apart).all()
    assert 0 < sum(both.weights) < 1  # the definition has the rest


def test_each_word_has_its_own_definition(learner):
    tasks = [Evidence(word, (), (definition,)) for word, (definition, _) in GLOSSARY.items()]
    together = learner.learn_each([*tasks, ("blimpet", ["a blimpet is a fruit."])])
    for task, learned in zip(tasks, together, strict=False):
        alone = learner.learn(task.word, definition=task.definitions)
        assert np.allclose(learned.embedding, alone.embedding, atol=1e-5)
    assert np.allclose(together[-1].embedding, learner.learn("blimpet", ["a blimpet is a fruit."]).embedding, atol=1e-5)


def test_the_words_of_a_definition_count_by_how_well_they_fit(lm, learner):
    embeddings = lm.embeddings[[lm.whole_words["fruit"]]].float()
    said = content(lm, learner.known, [Evidence("kumquat", (), ("a fruit sold in large boxes",))], embeddings)
    known = learner.known
    nearest = known.ids[(known.directions(known.embeddings) @ said[0]).argmax()]
    assert nearest == lm.whole_words["fruit"]
    nothing = content(lm, learner.known, [Evidence("kumquat", (), ("qzx",))], embeddings)
    assert not nothing.any()


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("n.: “wearing an anorak.”", ["wearing an anorak"]),
        ("(in the Caribbean) a large meal", ["a large meal"]),
        ("1. A musician. 2. A fan of jam sessions.", ["a musician", "a fan of jam sessions"]),
        ("DNA of a virus", ["DNA of a virus"]),
        ("noun, an area of an office", ["an area of an office"]),
        ("in topping, n.1: “a hangman.”", ["a hangman"]),
        ("adj. and n., sense A.2: “figurative. Extremely large.”", ["extremely large"]),
        ("v., Phrasal verbs 1: “transitive. U.S. slang. To fail.”", ["to fail"]),
        ("(aka. past-life disorder): Severe trauma", ["severe trauma"]),
        ("in football, an undeniable claim", ["in football, an undeniable claim"]),
        ("n.: “”", ["n.: “”"]),
        ("  ", []),
    ],
)  # fmt: skip
def test_the_marks_of_a_dictionary_are_removed(definition, expected):
    assert senses(definition) == expected


def test_a_definition_that_contains_the_term_is_a_sentence():
    assert sentences_of("oca", "Oca is a plant with tubers.") == ["Oca is a plant with tubers."]
    assert '"to xnopyt" means to disintegrate.' in sentences_of("xnopyt", "to disintegrate")


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("an oral antiviral pill used to treat COVID-19", "pill"),
        ("any of various small breeds of dog of Europe", "dog"),
        ("a shelf projecting from a wall", "shelf"),
        ("a small sailing boat", "boat"),
        ("a notebook containing descriptions of plays", "notebook"),
        ("the act of driving an automobile", "driving"),
        ("tropical fishes of the coast", "fish"),
        ("of or in the", None),
        ("0", None),
    ],
)
def test_the_head_of_a_definition_is_the_kind_of_thing(lm, definition, expected):
    assert head(lm, definition) == expected


def test_words_without_content_do_not_count(lm, learner):
    short, long = (
        mean_of_words(lm, learner.known, Evidence("oca", (), (text,)))
        for text in ("plant tubers", "a plant in which there is an oca or tubers of it")
    )
    assert torch.allclose(short, long, atol=1e-6)
    assert not mean_of_words(lm, learner.known, Evidence("oca", (), ("of an oca",))).any()

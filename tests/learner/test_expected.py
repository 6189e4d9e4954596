"""Contexts as tokens, what the model reads in them, and words by their spelling."""

from __future__ import annotations

import logging
from logging.handlers import BufferingHandler

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rarewords import LanguageModel, Query
from rarewords.corpus.text import split
from rarewords.learner.expected import pool, read, shares
from rarewords.learner.known_words import KnownWords
from rarewords.learner.masked import contexts_of_sentences, contexts_of_words, find_word
from rarewords.learner.spelling import Spelling
from tests.architectures import ARCHITECTURES, small_model
from tests.errors import refused_with

SENTENCES = [
    ("kumquat", "A kumquat is a small fruit."),
    ("kumquat", "We ate one kumquat, then more of the kumquat jam."),
    ("violin", "She plays the Violin in a large orchestra every night."),
]


@pytest.fixture(scope="module")
def known(lm):
    return KnownWords.of(lm)


@pytest.fixture(scope="module")
def masked(lm):
    return contexts_of_sentences(lm.tokens, SENTENCES)


def text_of(lm, contexts, number):
    return lm.tokenizer.decode(contexts.rows[number])


def test_the_mask_stands_where_the_word_stood(lm, masked):
    assert masked.words == ["kumquat", "kumquat", "violin"]
    assert masked.owner.tolist() == [0, 1, 2]
    assert text_of(lm, masked, 0) == "[CLS] a [MASK] is a small fruit. [SEP]"
    assert text_of(lm, masked, 1) == "[CLS] we ate one [MASK], then more of the kumquat jam. [SEP]"
    for number in range(3):
        assert masked.rows[number][masked.blank[number]] == lm.tokenizer.mask_token_id


def test_long_sentences_are_cut_around_the_word(lm):
    sentence = "left " * 100 + "kumquat" + " right" * 100
    cut = contexts_of_sentences(lm.tokens, [("kumquat", sentence)], length=12)
    assert text_of(lm, cut, 0) == "[CLS] left left left left left [MASK] right right right right [SEP]"
    early = contexts_of_sentences(lm.tokens, [("kumquat", "kumquat" + " right" * 100)], length=12)
    assert text_of(lm, early, 0) == "[CLS] [MASK]" + " right" * 9 + " [SEP]"


def test_a_sentence_that_says_mask_itself_is_no_trouble(lm):
    odd = contexts_of_sentences(lm.tokens, [("kumquat", "the [MASK] of a kumquat [MASK] is")])
    assert text_of(lm, odd, 0) == "[CLS] the [MASK] of a [MASK] [MASK] is [SEP]"
    assert odd.blank.tolist() == [5]


def test_the_word_must_be_in_the_sentence_as_a_word():
    assert find_word("cat", "a catalogue, a cat.", lower_case=True) == (15, 18)
    assert find_word("Cat", "a cat", lower_case=False) is None
    assert find_word("ice cream", "eat Ice Cream now", lower_case=True) == (4, 13)
    assert find_word("cat", "concatenate", lower_case=True) is None
    assert find_word("new york", "a new yorker in New York", lower_case=True) == (16, 24)
    # Lower-casing makes two characters of this one; the places after it must stay.
    assert find_word("cat", "İ and a Cat", lower_case=True) == (8, 11)


@given(st.text(alphabet="abt .-'’,\n1/(", max_size=30), st.booleans())
@settings(max_examples=300)
def test_a_word_is_found_where_the_corpus_finds_it(sentence, lower_case):
    cut = split(sentence, lower_case=False, sentences=False)
    spans = zip(cut.starts.tolist(), cut.ends.tolist(), strict=True)
    wanted = next(((start, end) for start, end in spans if cut.text[start:end] == "ab"), None)
    found = find_word("ab", sentence, lower_case=lower_case)
    assert found == wanted if wanted else found is None or cut.text[slice(*found)] == "ab"


def test_a_sentence_without_the_word_is_refused(lm):
    with refused_with("word-not-found"):
        contexts_of_sentences(lm.tokens, [("kumquat", "kumquats are not asked for")])


def test_a_corpus_gives_the_contexts_it_has_sampled(lm, corpus):
    words = ["the", "city", "qzxqzx"]
    found = contexts_of_words(lm.tokens, corpus, words, contexts=5)
    assert found.counts.tolist() == [5, 5, 0]
    expected = {c.sentence[: c.start] + "[MASK]" + c.sentence[c.end :] for c in corpus.contexts("city", 5)}
    told = {lm.tokenizer.decode(lm.tokenizer(text)["input_ids"]) for text in expected}
    short = [number for number in range(5, 10) if len(found.rows[number]) < 64]
    assert short
    assert {text_of(lm, found, number) for number in short} <= told


def test_a_reading_is_the_expected_embedding(lm, known, masked):
    readings = read(lm, known, masked)
    answers = lm.fill([Query("a _ is a small fruit.", "")], top_k=len(lm.embeddings))
    probabilities = torch.zeros(len(lm.embeddings))
    probabilities[torch.from_numpy(answers.ids[0])] = torch.from_numpy(answers.log_probs[0]).exp()
    whole = probabilities[known.ids]
    expected = (whole / whole.sum()) @ known.embeddings
    assert torch.allclose(readings[0], expected, atol=1e-4)


def test_shown_words_stand_before_the_mask(lm, known, masked):
    shown = read(lm, known, masked, "shown")
    by_hand = contexts_of_sentences(lm.tokens, [("blimp", "A kumquat / blimp is a small fruit.")])
    assert torch.allclose(shown[0], read(lm, known, by_hand)[0], atol=1e-4)
    alone = read(lm, known, masked)
    assert not torch.allclose(shown[0], alone[0], atol=1e-2)
    assert torch.allclose(read(lm, known, masked, "both"), (shown + alone) / 2, atol=1e-5)


def test_a_word_that_does_not_fit_is_not_shown(lm, known):
    word = "-".join(["kumquat"] * 150)  # more subwords than the model takes tokens
    masked = contexts_of_sentences(lm.tokens, [(word, f"A {word} is a small fruit.")])
    plain = contexts_of_sentences(lm.tokens, [("kumquat", "A kumquat is a small fruit.")])
    assert torch.allclose(read(lm, known, masked, "shown"), read(lm, known, plain), atol=1e-5)


def test_a_forbidden_word_is_not_expected(lm, known):
    told = contexts_of_sentences(lm.tokens, [("paris", "paris is the capital of france.")])
    own = lm.whole_words["paris"]
    direction = lm.embeddings[own] - known.mean
    free = (read(lm, known, told)[0] - known.mean) @ direction
    forbidden = (read(lm, known, told, "forbidden")[0] - known.mean) @ direction
    assert forbidden < free


def test_readings_do_not_depend_on_what_else_is_read(lm, known, masked):
    alone = contexts_of_sentences(lm.tokens, SENTENCES[2:])
    assert torch.allclose(read(lm, known, masked)[2], read(lm, known, alone)[0], atol=1e-5)


def test_pooling_and_shares(lm, known, masked):
    readings = read(lm, known, masked)
    pooled = pool(readings, np.array([2, 0, 1]), known.mean)
    assert torch.allclose(pooled[0], readings[:2].mean(0), atol=1e-6)
    assert torch.equal(pooled[1], known.mean)  # no contexts
    assert torch.allclose(pooled[2], readings[2], atol=1e-6)
    assert torch.equal(pool(readings[:0], np.zeros(2, np.int64), known.mean), known.mean.repeat(2, 1))
    parts = shares(readings[:2], known, pooled[0])
    assert parts.sum().item() == pytest.approx(1)
    assert (parts >= 0).all()


@pytest.mark.parametrize("kind", sorted(ARCHITECTURES))
def test_any_architecture_can_be_read_with(kind):
    model, tokenizer = small_model(kind)
    lm = LanguageModel(model, tokenizer, name=kind)
    known = KnownWords.of(lm)
    contexts = contexts_of_sentences(lm.tokens, [("the", "see the dog and the cat"), ("the", "the dog")])
    readings = read(lm, known, contexts, "shown")
    assert readings.shape == (2, lm.dim)
    assert torch.isfinite(readings).all()


def test_spelling_finds_the_word_that_was_meant(lm, known):
    spelled = Spelling(lm)
    alike = known.ids[spelled.resemblance(["televission", "orchestraa"]).argmax(dim=1)].tolist()
    assert alike == [lm.whole_words["television"], lm.whole_words["orchestra"]]
    embeddings, resemblance = spelled.of(["televission", "qzxqzx"])
    assert resemblance[0] > 0.5 > 0.3 > resemblance[1]
    near = torch.cosine_similarity(embeddings[0] - known.mean, known.embeddings - known.mean)
    assert known.ids[near.argmax()] == lm.whole_words["television"]


def test_a_word_is_not_compared_with_itself(lm, known):
    spelled = Spelling(lm)
    own = int(torch.searchsorted(known.ids, lm.whole_words["television"]))
    assert spelled.resemblance(["television"])[0, own] == 0
    one = spelled.of(["television", "kumquat"])[0]
    assert torch.allclose(one[1], spelled.of(["kumquat"])[0][0], atol=1e-6)


def test_a_very_long_sentence_is_cut_without_a_warning(lm):
    tokenizer, logger = lm.tokens.tokenizer, logging.getLogger("transformers")
    handler, level = BufferingHandler(100), logger.level
    tokenizer.deprecation_warnings.clear()  # it warns once only
    logger.addHandler(handler)
    logger.setLevel(logging.WARNING)
    sentence = "tree " * 600 + "and a kumquat here" + " tree" * 600
    masked = contexts_of_sentences(lm.tokens, [("kumquat", sentence)], length=64)
    logger.removeHandler(handler)
    logger.setLevel(level)
    (row,) = masked.rows
    assert len(row) == 64
    assert row[masked.blank[0]] == tokenizer.mask_token_id
    assert [record.getMessage() for record in handler.buffer] == []

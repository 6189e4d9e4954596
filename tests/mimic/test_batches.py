"""Contexts: their windows, their tokens, and what is left out of them."""

import numpy as np
import pytest
import torch

from rarewords.corpus.settings import CorpusSettings
from rarewords.mimic.batches import WINDOW, ContextEmbeddings, PreparedContexts, Reader, Sentences


def read(word, texts, known):
    """The readings of all contexts of a word, and the sentence of each."""
    reader = Reader(PreparedContexts(Sentences(texts, lower_case=True), [word]), [word], known)
    return reader.read(torch.arange(int(reader.starts[-1]))), reader.sentence.tolist()


def one_hot(*tokens):
    """Known tokens whose readings show which were read."""
    return ContextEmbeddings(tokens, torch.eye(len(tokens), dtype=torch.float64))


def test_every_occurrence_of_the_word_is_left_out_of_its_contexts():
    known = one_hot("kumquat", "or", "two", "trees")
    readings, sentences = read("kumquat", ["Kumquat or two kumquat trees"], known)
    assert sentences == [0]  # one context, although the word occurs twice
    np.testing.assert_allclose(readings[0], [0, 1 / 3, 1 / 3, 1 / 3])


def test_a_context_has_25_words_to_each_side_and_the_marks_between_them():
    words = [f"w{number:03}" for number in range(80)]
    text = " ".join(f"{word} ," if word in ("w013", "w014", "w064", "w065") else word for word in words)
    readings, _ = read("kumquat", [text.replace("w040", "kumquat")], one_hot(*words, ","))
    assert readings[0].nonzero().squeeze(1).tolist() == [*range(15, 40), *range(41, 66), 80]
    assert float(readings[0, 80]) == pytest.approx(1 / 51)  # of the four commas only the one after w064


def test_a_corpus_keeps_at_most_1000_contexts_of_the_same_window():
    assert (CorpusSettings().contexts, CorpusSettings().window) == (1000, WINDOW)


def test_occurrences_with_windows_of_their_own_are_contexts_of_their_own():
    words = [f"w{number:03}" for number in range(60)]
    text = " ".join(["kumquat", *words, "kumquat"])
    readings, sentences = read("kumquat", ["a kumquat", text], one_hot("a", *words))
    assert sentences == [0, 1, 1]
    assert readings[1].nonzero().squeeze(1).tolist() == list(range(1, 26))
    assert readings[2].nonzero().squeeze(1).tolist() == list(range(36, 61))


def test_marks_and_numbers_are_tokens_but_full_stops_and_quotes_are_not():
    known = one_hot(",", "(", ")", "!", "1984", "u.s.", "'s", ".", '"', "-")
    text = 'The U.S. kumquat\'s "tree" (1984), well-known - in 9,000 towns!...'
    readings, _ = read("kumquat", [text], known)
    assert (readings[0] > 0).tolist() == [True, True, True, True, True, True, True, False, False, True]


def test_contexts_without_a_known_token_are_dropped():
    readings, sentences = read("kumquat", ["zzz kumquat", "kumquat", "a kumquat"], one_hot("a", "kumquat"))
    assert sentences == [2]
    assert readings.tolist() == [[1, 0]]

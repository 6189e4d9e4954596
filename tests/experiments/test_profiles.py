"""Words compared by the sentences that use them."""

import numpy as np
import torch

from experiments.tasks.profiles import profiles, states
from rarewords.learner.masked import contexts_of_sentences

# The words themselves are masked, so their spelling cannot help.
WORDS = [
    ("qax", ["She peeled a ripe qax and ate it.", "A sweet qax fell from the tree."]),
    ("vub", ["He cut the juicy vub in half.", "They sell vub and plums on the market."]),
    ("zil", ["The zil sailed out of the harbour.", "Three men rowed the old zil across the lake."]),
    ("wem", ["The storm sank the wem near the coast.", "The crew left the burning wem at sea."]),
]


def test_two_fruits_are_more_alike_than_a_fruit_and_a_boat(lm):
    masked = contexts_of_sentences(lm.tokens, [(word, one) for word, own in WORDS for one in own])
    unit = torch.nn.functional.normalize(profiles(states(lm, masked), np.array([2, 2, 2, 2])), dim=1)
    found = unit @ unit.T
    assert min(found[0, 1], found[2, 3]) > found[:2, 2:].max()


def test_a_state_is_the_models_own_at_the_mask(lm):
    masked = contexts_of_sentences(lm.tokens, [("qax", WORDS[0][1][0])])
    text = WORDS[0][1][0].replace("qax", lm.tokens.mask_token)
    encoded = lm.tokenizer(text, return_tensors="pt")
    place = encoded["input_ids"][0].tolist().index(lm.tokenizer.mask_token_id)
    expected = lm.model(**encoded, output_hidden_states=True).hidden_states[-1][0, place]
    np.testing.assert_allclose(states(lm, masked)[0], expected, atol=1e-5)


def test_profiles_are_in_units_of_the_spread(lm):
    masked = contexts_of_sentences(lm.tokens, [(word, one) for word, own in WORDS for one in own])
    found = states(lm, masked)
    each = profiles(found, np.ones(8, np.int64))
    np.testing.assert_allclose(each.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(each.std(0, correction=0), 1, atol=1e-4)
    np.testing.assert_allclose(profiles(found, np.array([2, 0, 6]))[0], each[:2].mean(0), atol=1e-5)
    assert not profiles(found, np.array([2, 0, 6]))[1].any()

"""BERTRAM: attention over contexts, and what a batch of them is."""

import numpy as np
import torch

from experiments.mimicking.bertram import Reading, States


def test_contexts_are_weighed_by_their_similarity_to_each_other():
    torch.manual_seed(0)
    model, states = Reading(4, 3), torch.randn(1, 3, 4)
    present = torch.tensor([[True, True, False]])
    first, second = (model.compare @ states[0, place] for place in (0, 1))
    rows = torch.stack([first @ first + first @ second, second @ first + second @ second])
    weights = rows / rows.sum()
    literal = model.linear(weights[0] * states[0, 0] + weights[1] * states[0, 1])
    torch.testing.assert_close(model(states, present)[0], literal)


def test_a_training_batch_has_some_contexts_of_each_word_and_none_of_others():
    states = States(torch.arange(7.0)[:, None], np.array([0, 4, 4, 7]))
    every, present = states.batch(np.array([2, 0]), None)
    assert [row[own].flatten().tolist() for row, own in zip(every, present, strict=True)] == [[4, 5, 6], [0, 1, 2, 3]]
    rng, sizes = np.random.default_rng(0), set()
    for _ in range(50):
        drawn, present = states.batch(np.array([2]), rng)
        chosen = drawn[0][present[0]].flatten().tolist()
        assert set(chosen) <= {4, 5, 6}
        assert len(set(chosen)) == len(chosen)
        sizes.add(len(chosen))
    assert sizes == {1, 2, 3}

"""One vector in place of word, slash and vector."""

import numpy as np
import torch

from rarewords.ota.approximate import Approximator, condense


def test_condensing_makes_the_model_compute_as_with_word_slash_vector(lm):
    words = ["kumquat", "persimmon", "lime"]
    pieces = lm.tokens.pieces_of(words)
    vectors = lm.embeddings[[lm.whole_words[word] for word in ("orange", "apple", "fruit")]].clone()
    made = condense(lm, pieces, vectors, 15)
    single = torch.cat([condense(lm, [one], vectors[[row]], 15) for row, one in enumerate(pieces)])
    assert torch.allclose(made, single, atol=2e-3)  # the batch changes nothing
    approximator = Approximator(lm)
    objective = approximator.objective

    def distance(word, vector):
        batch = approximator.batch([[*pieces[word], *lm.pieces("/"), 0]], vectors[[word]])
        unseen = range(500, 504)
        return sum(
            float(objective.distance(vector[None], objective.targets(batch, one), batch.keys, one))
            for one in unseen
        )

    before, after = (np.array([distance(word, some[word]) for word in range(3)]) for some in (vectors, made))
    assert (after < before).all()
    assert after.mean() < 0.95 * before.mean()
    assert condense(lm, [], vectors[:0], 10).shape == (0, lm.dim)

"""The objective and the paper's preset against the formulas of the paper, written out plainly."""

import pytest
import torch

from rarewords.errors import InputError
from rarewords.ota import Approximator, OtaSettings
from rarewords.ota.contexts import Frame, draw, word_key
from rarewords.ota.objective import Objective

WORDS = ("kumquat", "lingonberry")


def embedded(lm, ids):
    return lm.model.get_input_embeddings()(torch.tensor(ids))


def literal_distance(lm, left, pieces, right, vector, layers, side="both"):
    """d(e, e~ | l, r) of the paper, one sequence, one layer and one place at a time."""

    def states(middle):
        sequence = torch.cat([embedded(lm, left), middle, embedded(lm, right)])[None]
        return lm.model.base_model(inputs_embeds=sequence, output_hidden_states=True).hidden_states

    original, replaced = states(embedded(lm, pieces)), states(vector[None])
    total = torch.zeros(())
    for layer in layers:
        for place in range(len(left) + len(right)):
            on_left = place < len(left)
            if side != "both" and on_left != (side == "left"):
                continue
            one = original[layer][0, place if on_left else place + len(pieces)]
            other = replaced[layer][0, place if on_left else place + 1]
            total = total + ((one - other) ** 2).sum()
    return total


def contexts_of(lm, pieces, counter):
    """The random context number ``counter`` of a word, as lists of ids."""
    frame = Frame.of(lm, "random")
    keys = torch.tensor([word_key(pieces, 0)])
    row = frame.sequences(torch.tensor([pieces]), keys, torch.tensor([counter]))[0].tolist()
    return row[:2], row[2 + len(pieces) :]


@pytest.mark.parametrize("side", ["both", "left", "right"])
@pytest.mark.parametrize("contexts", ["random", "static"])
def test_distance_is_the_formula_of_the_paper(lm, contexts, side):
    objective = Objective.of(lm, OtaSettings.preset("paper", contexts=contexts, side=side))
    for word in WORDS:
        pieces = lm.pieces(word)
        vector = lm.embeddings[pieces].mean(dim=0)
        keys, counters = torch.tensor([word_key(pieces, 0)]), torch.tensor([3])
        targets = objective.targets(torch.tensor([pieces]), keys, counters)
        left, right = contexts_of(lm, pieces, 3) if contexts == "random" else ([101], [1012, 102])
        expected = literal_distance(lm, left, pieces, right, vector, range(1, 7), side)
        found = objective.distance(vector[None], targets, keys, counters)[0]
        assert found.item() == pytest.approx(expected.item(), rel=1e-4)
        assert found > 0.1


def test_chosen_layers_only(lm):
    pieces = lm.pieces("kumquat")
    vector = lm.embeddings[pieces].mean(dim=0)
    objective = Objective.of(lm, OtaSettings.preset("paper", contexts="static", layers=(2, 5)))
    keys, counters = torch.zeros(1, dtype=torch.long), torch.tensor([0])
    targets = objective.targets(torch.tensor([pieces]), keys, counters)
    expected = literal_distance(lm, [101], pieces, [1012, 102], vector, (2, 5))
    found = objective.distance(vector[None], targets, keys, counters)[0]
    assert found.item() == pytest.approx(expected.item(), rel=1e-4)


def test_a_one_piece_word_is_its_own_best_approximation(lm):
    token = lm.whole_words["lime"]
    objective = Objective.of(lm, OtaSettings())
    keys, counters = torch.tensor([5]), torch.arange(3)
    targets = objective.targets(torch.tensor([[token]]), keys, counters)
    assert objective.distance(lm.embeddings[token][None], targets, keys, counters).item() < 1e-6


def test_preset_paper_is_adam_from_zero_with_new_contexts_each_iteration(lm):
    pieces, steps = lm.pieces("kumquat"), 6
    settings = OtaSettings.preset("paper", iterations=steps)
    assert (settings.start, settings.learning_rate, settings.layers) == ("zero", 1e-3, None)
    assert OtaSettings.preset("paper").iterations == 4000
    vector = torch.zeros(lm.dim, requires_grad=True)
    optimizer = torch.optim.Adam([vector], lr=1e-3)
    seen = set()
    for step in range(steps):
        left, right = contexts_of(lm, pieces, step)
        seen.add((left[1], right[0]))
        optimizer.zero_grad()
        literal_distance(lm, left, pieces, right, vector, range(1, 7)).backward()
        optimizer.step()
    assert len(seen) == steps
    approximator = Approximator(lm, settings)
    found = approximator.solve(approximator.batch([pieces]))
    torch.testing.assert_close(found.vectors[0], vector.detach(), rtol=1e-3, atol=1e-5)
    assert (found.forwards, found.backwards) == (2 * steps, steps)


def test_random_words_are_uniform_and_belong_to_the_word():
    keys = torch.tensor([word_key([7, 8], 0), word_key([7, 9], 0)])
    many = draw(keys, torch.arange(20_000), 10)
    counts = torch.stack([torch.bincount(column, minlength=10) for column in many.T])
    # 2000 expected, standard deviation 42.
    assert int(counts.min()) > 1800
    assert int(counts.max()) < 2200
    assert (many[:, 0] == many[:, 1]).float().mean().item() == pytest.approx(0.1, abs=0.02)
    assert torch.equal(draw(keys[1:], torch.arange(100), 10)[:, 0], many[:100, 1])
    assert word_key([7, 8], 0) != word_key([7, 8], 1)


def test_contexts_are_whole_words_around_the_pieces(lm):
    pieces = lm.pieces("kumquat")
    left, right = contexts_of(lm, pieces, 0)
    whole = set(lm.whole_words.values())
    assert left[0] == 101
    assert {left[1], right[0]} <= whole
    assert right[1:] == [1012, 102]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"start": "middle"}, "start must be one of zero"),
        ({"iterations": 0}, "iterations must be at least 1"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"layers": ()}, "layers must name"),
        ({"tolerance": 1.0}, "tolerance"),
        ({"fresh": True}, "lbfgs needs contexts that stay"),
        ({"speed": 3}, "speed is not a setting"),
    ],
)
def test_wrong_settings_are_refused(changes, part):
    with pytest.raises(InputError, match=part):
        OtaSettings.preset("fast", **changes)


def test_a_layer_the_model_lacks_is_refused(lm):
    with pytest.raises(InputError, match="6 layers, so there is no layer 7"):
        Objective.of(lm, OtaSettings(layers=(7,)))

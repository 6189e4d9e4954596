"""The objective and the solver against the formulas of the paper, written out plainly."""

import random

import pytest
import torch

from rarewords.lm import LanguageModel
from rarewords.ota.approximate import Approximator, curvature, kept_curvature
from rarewords.ota.objective import Batch, Frame, Objective, word_key
from rarewords.ota.settings import OtaSettings
from tests.architectures import small_model
from tests.errors import refused_with

WORDS = ("kumquat", "lingonberry")


def embedded(lm, ids):
    return lm.model.get_input_embeddings()(torch.tensor(ids))


def literal_distance(lm, left, subwords, right, embedding, layers, *, balanced=False):
    """d(e, e~ | l, r) of the paper, one sequence, one layer and one position at a time.

    ``balanced`` divides the sum of a layer by the mean square of the original states' numbers.
    """

    def states(middle):
        sequence = torch.cat([embedded(lm, left), middle, embedded(lm, right)])[None]
        return lm.model.base_model(inputs_embeds=sequence, output_hidden_states=True).hidden_states

    original, replaced = states(embedded(lm, subwords)), states(embedding[None])
    total = torch.zeros(())
    for layer in layers:
        apart, squares = torch.zeros(()), []
        for place in range(len(left) + len(right)):
            on_left = place < len(left)
            one = original[layer][0, place if on_left else place + len(subwords)]
            other = replaced[layer][0, place if on_left else place + 1]
            apart = apart + ((one - other) ** 2).sum()
            squares.append((one.detach() ** 2).mean())
        total = total + (apart / torch.stack(squares).mean() if balanced else apart)
    return total


def context_of(lm, subwords, frame, number):
    """The context of a word, as lists of ids left and right of it."""
    frame = Frame.of(lm, frame)
    keys = torch.tensor([word_key(subwords, 0)])
    row = frame.sequences(torch.tensor([subwords]), keys, number)[0].tolist()
    return row[: frame.left], row[frame.left + len(subwords) :]


@pytest.mark.parametrize(("layers", "balanced"), [(None, False), ((2, 5), False), ((0, 1), True), (None, True)])
@pytest.mark.parametrize("frame", ["static", "random", "masked"])
def test_distance_is_the_formula_of_the_paper(lm, frame, layers, balanced):
    objective = Objective(lm, OtaSettings(frame=frame, layers=layers, balanced=balanced))
    for word in WORDS:
        subwords = lm.subwords(word)
        embedding = lm.embeddings[subwords].mean(dim=0)
        batch = Batch.of(lm, [subwords], seed=0)
        left, right = context_of(lm, subwords, frame, 3)
        every = layers or range(1, lm.layers + 1)
        expected = literal_distance(lm, left, subwords, right, embedding, every, balanced=balanced)
        found = objective.distance(embedding[None], objective.targets(batch, 3), batch.keys, 3)[0]
        assert found.item() == pytest.approx(expected.item(), rel=1e-4)
        assert found > 0.01


def test_a_one_subword_word_is_its_own_best_approximation(lm):
    token = lm.whole_words["lime"]
    objective, batch = Objective(lm, OtaSettings()), Batch.of(lm, [[token]], seed=0)
    targets = objective.targets(batch, 1)
    assert objective.distance(lm.embeddings[token][None], targets, batch.keys, 1).item() < 1e-6


@pytest.mark.parametrize("frame", ["random", "masked", "static"])
def test_preset_paper_is_adam_from_zero_with_a_new_context_at_each_step(lm, frame):
    subwords, steps = lm.subwords("kumquat"), 6
    embedding = torch.zeros(lm.dim, requires_grad=True)
    optimizer = torch.optim.Adam([embedding], lr=1e-3)
    seen = set()
    for step in range(steps):
        left, right = context_of(lm, subwords, frame, step)
        seen.add((*left, *right))
        optimizer.zero_grad()
        literal_distance(lm, left, subwords, right, embedding, range(1, lm.layers + 1)).backward()
        optimizer.step()
    assert len(seen) == (1 if frame == "static" else steps)
    approximator = Approximator(lm, OtaSettings.preset("paper", frame=frame, steps=steps))
    found = approximator.solve(Batch.of(lm, [subwords], seed=0))
    torch.testing.assert_close(found[0], embedding.detach(), rtol=1e-3, atol=1e-5)


def test_preset_fast_averages_newton_steps_from_the_mean_of_the_subwords(lm):
    subwords, steps, settings = lm.subwords("kumquat"), 6, OtaSettings.preset("fast", steps=6)
    bent = torch.from_numpy(kept_curvature(lm, settings))
    damped = bent + 0.5 * bent.trace() / lm.dim * torch.eye(lm.dim)
    length = 0.1 * (lm.embeddings - lm.embeddings.mean(dim=0)).norm(dim=1).mean()
    embedding, second_half = lm.embeddings[subwords].mean(dim=0), []
    for step in range(steps):
        left, right = context_of(lm, subwords, "masked", step // 4)
        embedding = embedding.detach().requires_grad_()
        literal_distance(lm, left, subwords, right, embedding, range(1, lm.layers + 1), balanced=True).backward()
        move = torch.linalg.solve(damped, embedding.grad)
        embedding = embedding - length * move / move.norm()
        if step >= steps / 2:
            second_half.append(embedding)
    approximator = Approximator(lm, settings)
    found = approximator.solve(Batch.of(lm, [subwords], seed=0))
    expected = torch.stack(second_half).mean(dim=0).detach()
    torch.testing.assert_close(found[0], expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("balanced", [True, False])
def test_the_curvature_is_the_mean_second_derivative_at_known_words(balanced):
    lm = LanguageModel(*small_model("bert"))
    objective = Objective(lm, OtaSettings(balanced=balanced))
    chosen = random.Random(0).sample(sorted(lm.whole_words.values()), 4)
    exact = torch.zeros(lm.dim, lm.dim)
    for token in chosen:
        batch = Batch.of(lm, [[token]], seed=0)
        units = objective.units(objective.targets(batch, 0))

        def states(embedding, batch=batch, units=units):
            return (objective.states(embedding[None], batch.keys, 0) / units).flatten()

        jacobian = torch.autograd.functional.jacobian(states, lm.embeddings[token].clone())
        exact += 2 * jacobian.T @ jacobian / len(chosen)
    found = torch.from_numpy(curvature(objective, words=4, draws=3000))
    assert (found - exact).norm() < 0.05 * exact.norm()


def test_the_curvature_is_kept_where_the_cache_can_be_written(tmp_path, monkeypatch):
    lm = LanguageModel(*small_model("bert"))
    found = []
    for place in (tmp_path / "cache", tmp_path / "cache", tmp_path / "file" / "below"):
        (tmp_path / "file").touch()
        monkeypatch.setenv("RAREWORDS_CACHE", str(place))
        found.append(kept_curvature(lm, OtaSettings()))
    assert len(list((tmp_path / "cache" / "ota").glob("curvature-*.safetensors"))) == 1
    assert (found[0] == found[1]).all()
    assert (found[0] == found[2]).all()


def test_a_layer_the_model_lacks_is_refused(lm):
    with refused_with("ota"):
        Objective(lm, OtaSettings(layers=(13,)))


def test_a_curvature_is_not_kept_for_the_same_weights_with_another_config(tmp_path, monkeypatch):
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path))
    model, tokenizer = small_model("bert")
    model.save_pretrained(tmp_path / "model")
    found = []
    for act in ("gelu", "tanh"):
        lm = LanguageModel(type(model).from_pretrained(tmp_path / "model", hidden_act=act), tokenizer)
        found.append(kept_curvature(lm, OtaSettings()))
    assert (found[0] != found[1]).any()

"""The same numbers whatever the number of threads: torch splits no sum among them."""

import pytest
import torch

from rarewords import AttentiveMimicking, LanguageModel, Query, WordLearner, one_token_approximation
from rarewords._internal.engine import in_threads, one_thread
from rarewords.learner.settings import BUNDLED_MIMIC
from rarewords.ota.settings import OtaSettings
from tests.architectures import small_model

SENTENCES = [
    f"{start} the wibbard {end}"
    for start in ("She peeled", "On Sunday they ate", "A farmer in the south of France grows")
    for end in ("and put it into a basket.", "because its sweet yellow skin was ripe and soft.", "slowly.")
]


@pytest.fixture
def with_threads():
    """Run a function with a number of threads."""
    before = torch.get_num_threads()

    def run(threads, function):
        torch.set_num_threads(threads)
        return function()

    yield run
    torch.set_num_threads(before)


def test_learned_embeddings_answers_and_approximations(lm, with_threads):
    learner = WordLearner.for_model(lm)
    questions = [Query("a <W> is a kind of _ .", word) for word in ("kumquat", "lime", "wibbard")]

    def compute():
        made = learner.learn("wibbard", SENTENCES).embedding.tobytes()
        answers = lm.fill(questions, top_k=20).log_probs.tobytes()
        near = one_token_approximation(lm, ["kumquat", "unicycle"], OtaSettings.preset("fast", steps=3)).embeddings
        return made, answers, near.matrix.tobytes()

    assert with_threads(1, compute) == with_threads(2, compute) == with_threads(3, compute)


def test_mimicked_embeddings(lm, with_threads):
    mimic = AttentiveMimicking.from_pretrained(BUNDLED_MIMIC, lm)

    def compute():
        return mimic.learn("wibbard", SENTENCES).embedding.tobytes()

    assert with_threads(1, compute) == with_threads(2, compute)


def test_threads_that_share_a_model_do_not_disturb_each_other(with_threads):
    shared, words = LanguageModel(*small_model("bert")), " ".join(SENTENCES).split() * 3

    def compute(size):
        with torch.no_grad():
            states = shared.hidden_states(shared.embed(torch.full((size, 2 + size), 7)))
        return [one.tolist() for one in states], shared.tokens.subwords_of(words)

    sizes = [1, 2, 3, 4] * 15
    alone = [compute(size) for size in sizes]
    assert with_threads(3, lambda: list(in_threads(compute, sizes, "cpu"))) == alone


def test_results_come_in_order_and_errors_reach_the_caller(with_threads):
    def halve(number):
        return 12 // number

    def run():
        with one_thread():
            assert list(in_threads(halve, [1, 2, 3, 4], "cpu")) == [12, 6, 4, 3]
            assert torch.get_num_threads() == 1
        with pytest.raises(ZeroDivisionError):
            list(in_threads(halve, range(5, -1, -1), "cpu"))
        return torch.get_num_threads()

    assert with_threads(2, run) == 2

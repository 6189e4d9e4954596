"""The paper's figures agree with its text."""

from experiments.paper import published
from experiments.paper.settings import CONFIGURATIONS


def test_the_curves_have_the_papers_best_points():
    random, static = published.OTA_CURVES["random"], published.OTA_CURVES["static"]
    assert min(random, key=random.get) == 4000
    assert min(static, key=static.get) == 5000
    assert (random[100], random[4000], static[1000]) == (0.5465, 0.2124, 0.2932)


def test_losses_and_gains_are_those_the_text_names():
    ota, own = published.METHODS["ota"], published.METHODS["subwords"]
    losses = [round(1 - one / other, 3) for one, other in zip(ota, own, strict=True)]
    assert losses == [0.045, 0.057, 0.051]
    for relation in ("antonym", "hypernym", "cohyponym", "corruption"):
        for size in ("base", "large"):
            assert published.MAIN[relation][f"{size}+AM"][0] > published.MAIN[relation][size][0]
    assert published.MAIN["hypernym"]["large"][3:6] == [0.350, 0.169, 0.086]  # medium
    assert len(published.MAIN["corruption"]["base"]) == 3  # rare only
    assert set(published.ABLATION) == set(CONFIGURATIONS)


def test_examples_are_whole():
    assert len(published.EXAMPLES) == 8
    assert all("<W>" in pattern and "_" in pattern for _, pattern, _, _ in published.EXAMPLES)
    after = {word: answers for word, _, _, answers in published.EXAMPLES if answers}
    assert after["unaccessible"].split() == ["accessible", "allowed", "possible", "available"]
    assert after["resigntaion"].split()[-1] == "resigning"

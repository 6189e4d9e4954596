"""Which neighbours are asked for, and how a good and a bad vector are judged."""

from dataclasses import replace

import numpy as np

from rarewords import Query, WordVectors
from rarewords.teaching.judge import (
    BETTER,
    WORSE,
    Judgement,
    Made,
    Probed,
    Signs,
    judge,
    mask_neighbours,
    probe_words,
)
from rarewords.teaching.splits import Fold, Split
from tests.teaching.invented import hypernyms, occurrences_of


def made(word, *folds):
    """A word with a vector for each group of held-out contexts."""
    split = Split(word, 9, (), tuple(Fold((), held_out) for _, held_out in folds))
    return Made(split, folds[0][0], np.stack([vector for vector, _ in folds]), 1.0, 0)


def embedding(lm, word):
    return lm.embeddings[lm.pieces(word)[0]].numpy()


def test_neighbours_are_the_nearest_content_words_and_the_text_around_stays(lm):
    occurrence = occurrences_of("blimpet")[0]
    found = mask_neighbours(lm, occurrence)
    assert [pattern for pattern, _ in found] == [
        "She _ the <W> with her thumbs and gave half of it to her brother.",
        "She peeled the <W> with her _ and gave half of it to her brother.",
        "She peeled the <W> with her thumbs and _ half of it to her brother.",
    ]
    for pattern, masked in found:
        word = next(name for name, token in lm.whole_words.items() if token == masked)
        filled = pattern.replace("_", word).replace("<W>", "blimpet")
        assert filled.lower() == occurrence[0].lower()


def test_marks_of_patterns_in_the_text_itself_do_no_harm(lm):
    sentence = "The _ ripe blimpet <W> fell from the big tree."
    start = sentence.index("blimpet")
    found = mask_neighbours(lm, (sentence, start, start + 7))
    assert len(found) == 3  # ripe, fell, big
    assert all(pattern.count("_") == pattern.count("<W>") == 1 for pattern, _ in found)
    queries = [Query(pattern, "blimpet") for pattern, _ in found]
    assert np.isfinite(lm.log_likelihood(queries, [token for _, token in found])).all()
    assert mask_neighbours(lm, ("a [MASK] blimpet fell down", 9, 16)) == []


def test_the_vector_of_the_right_kind_is_judged_better_than_a_wrong_one(lm):
    right = wrong = 0.0
    for word in ("blimpet", "torvane", "yurla"):
        held_out = occurrences_of(word, 5)
        kinds = (hypernyms()[word][0], "parliament")
        good, bad = judge(lm, [made(word, (embedding(lm, kind), held_out)) for kind in kinds], slash=False)
        assert good.neighbours == bad.neighbours >= 12
        assert good.pieces == bad.pieces
        right, wrong = right + good.gain, wrong + bad.gain
    assert right > 0 > wrong


def test_all_folds_of_a_word_give_one_judgement_in_which_each_neighbour_counts_the_same(lm):
    held_out, vectors = occurrences_of("blimpet", 3), [embedding(lm, "fruit"), embedding(lm, "dish")]
    folds = [(vectors[0], held_out[:1]), (vectors[1], held_out[1:])]
    (whole,) = judge(lm, [made("blimpet", *folds)], slash=False)
    parts = judge(lm, [made("blimpet", fold) for fold in folds], slash=False)
    assert whole.contexts == sum(part.contexts for part in parts) == 3
    assert whole.neighbours == sum(part.neighbours for part in parts)
    weighted = sum(part.vector * part.neighbours for part in parts) / whole.neighbours
    assert abs(whole.vector - weighted) < 1e-5


def test_the_error_is_that_of_the_mean_and_never_zero(lm):
    one, several = (occurrences_of("blimpet", most) for most in (1, 8))
    good = embedding(lm, "fruit")
    few, many = judge(lm, [made("blimpet", (good, one)), made("blimpet", (good, several))], slash=False)
    assert few.neighbours < many.neighbours
    assert few.error > many.error > 0


def judgement(gain, signs=None, error=0.1, least=0.0):
    return Judgement(4, 9, -4.0, -4.0 + gain, error, least, signs)


SIGNS = Signs(errors=0.0, approach=0.2, sureness=-3.5, context_share=0.8)


def test_verdicts_come_from_the_rule_or_else_from_gain_and_error():
    found = [judgement(-0.05, replace(SIGNS, approach=one)) for one in (5.0, 0.2, -5.0)]
    for one in found:
        sure, doubtful = one.probability >= BETTER, one.probability >= WORSE
        assert one.verdict == ("better" if sure else "unclear" if doubtful else "worse")
    assert found[0].verdict == "better"  # in spite of a gain below zero
    assert found[-1].verdict == "worse"
    assert found[0].reason == f"helps with p = {found[0].probability:.2f}, held-out gain -0.05 ± 0.10"
    against = judgement(-0.15, replace(SIGNS, approach=5.0))
    assert against.probability >= BETTER
    assert against.verdict == "worse"  # held-out contexts speak against it by more than a standard error
    unchanged = judgement(0.1, signs=replace(SIGNS, errors=1.0, approach=0.0, context_share=0.7))
    assert unchanged.verdict == "worse"  # a gain, but the answers stay as they are
    assert judgement(0.1, replace(SIGNS, errors=1.0, context_share=0.7)).verdict == "unclear"
    assert [judgement(gain).verdict for gain in (0.2, 0.05, -0.01)] == ["better", "unclear", "worse"]
    verdicts = [judgement(gain, least=0.2).verdict for gain in (0.31, 0.25, 0.19)]
    assert verdicts == ["better", "unclear", "worse"]


def test_the_rule_grows_with_gain_and_approach_and_falls_with_sureness():
    plain = SIGNS
    assert 0 < plain.probability < 1
    assert replace(plain, errors=2.0).probability > plain.probability
    assert replace(plain, approach=0.5).probability > plain.probability
    assert replace(plain, sureness=-1.0).probability < plain.probability
    assert replace(plain, errors=1e9).probability == replace(plain, errors=50.0).probability < 1


def test_nothing_to_ask_is_no_judgement(lm):
    silent = made("blimpet", (embedding(lm, "fruit"), (("Blimpet!", 0, 7),)))
    assert judge(lm, [silent], slash=False) == [None]


def test_real_words_are_probed_with_wnlampro(lm):
    lemon, parliament = embedding(lm, "lemon"), embedding(lm, "parliament")
    good = probe_words(lm, WordVectors(["persimmon", "blimpet"], np.stack([lemon, lemon])), slash=False)
    bad = probe_words(lm, WordVectors(["persimmon"], parliament[None]), slash=False)
    assert [score.relation for score in good.scores] == ["hypernym", "cohyponym", "all"]
    best, worst = good.scores[-1], bad.scores[-1]
    assert best.words == 1
    assert best.entries == 2
    assert best.before == worst.before
    assert best.after > worst.after
    none = probe_words(lm, WordVectors(["blimpet"], lemon[None]), slash=False)
    assert none == Probed(unmeasured="the dataset has none of the words")

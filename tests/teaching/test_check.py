"""Which neighbours are masked, and how a good and a bad embedding are checked."""

import numpy as np
import pytest
import torch

from rarewords import LanguageModel, Query
from rarewords.corpus.corpus import Context
from rarewords.learner.english import FUNCTION_WORDS
from rarewords.teaching.check import Candidate, CheckResult, MaskedCheck, around, mask_neighbours
from rarewords.teaching.holdout import Fold, HoldOut
from tests.architectures import small_model
from tests.teaching.invented import hypernyms, occurrences_of, sentences_of


def candidate(word, *folds):
    """A word with an embedding for each group of held-out contexts."""
    holdout = HoldOut(word, 9, (), tuple(Fold((), held_out) for _, held_out in folds))
    return Candidate(holdout, folds[0][0], np.stack([embedding for embedding, _ in folds]), 1.0, 0)


def embedding(lm, word):
    return lm.embeddings[lm.subwords(word)[0]].numpy()


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
    found = mask_neighbours(lm, Context(sentence, start, start + 7))
    assert len(found) == 3  # ripe, fell, big
    assert all(pattern.count("_") == pattern.count("<W>") == 1 for pattern, _ in found)
    queries = [Query(pattern, "blimpet") for pattern, _ in found]
    assert len(lm.fill(queries).ids) == 3
    assert mask_neighbours(lm, Context("a [MASK] blimpet fell down", 9, 16)) == []


def test_marks_of_patterns_in_the_text_around_a_word_are_blanked(lm):
    sentence = "The _ ripe blimpet <W> fell."
    before, word, after = around(lm, Context(sentence, 11, 18), 100)
    assert (before, word, after) == ("The   ripe ", "blimpet", "     fell.")
    assert around(lm, Context(sentence, 11, 18), 5) == ("ripe ", "blimpet", "     ")


def test_a_text_that_the_model_cannot_read_whole_is_cut_around_the_word():
    small = LanguageModel(*small_model("roberta"))  # 64 positions, and three tokens for a sign it does not know
    sentence = f"{'漢' * 90} the old blimpet became {'字' * 90}"
    start = sentence.index("blimpet")
    found = mask_neighbours(small, Context(sentence, start, start + 7))
    assert len(found) == 2
    assert all("<W>" in pattern and len(pattern) < 60 for pattern, _ in found)
    queries = [Query(pattern, "blimpet", np.zeros(32, np.float32), "append") for pattern, _ in found]
    assert len(small.fill(queries).ids) == 2


def test_an_embedding_of_the_right_kind_gains_and_a_wrong_one_loses(lm):
    right = wrong = 0.0
    for word in ("blimpet", "torvane", "yurla"):
        held_out = occurrences_of(word, 5)
        kinds = (hypernyms()[word][0], "parliament")
        candidates = [candidate(word, (embedding(lm, kind), held_out)) for kind in kinds]
        good, bad = MaskedCheck(lm, "replace").run(candidates)
        assert good.neighbours == bad.neighbours >= 12
        assert good.subwords == bad.subwords
        right, wrong = right + good.gain, wrong + bad.gain
    assert right > 0 > wrong


def test_all_folds_of_a_word_give_one_result_in_which_each_neighbour_counts_the_same(lm):
    held_out, embeddings = occurrences_of("blimpet", 3), [embedding(lm, "fruit"), embedding(lm, "dish")]
    folds = [(embeddings[0], held_out[:1]), (embeddings[1], held_out[1:])]
    (whole,) = MaskedCheck(lm, "replace").run([candidate("blimpet", *folds)])
    parts = MaskedCheck(lm, "replace").run([candidate("blimpet", fold) for fold in folds])
    assert whole.contexts == sum(part.contexts for part in parts) == 3
    assert whole.neighbours == sum(part.neighbours for part in parts)
    weighted = sum(part.embedding * part.neighbours for part in parts) / whole.neighbours
    assert abs(whole.embedding - weighted) < 1e-5


def test_the_error_is_that_of_the_mean_and_never_zero(lm):
    one, several = (occurrences_of("blimpet", most) for most in (1, 8))
    good = embedding(lm, "fruit")
    candidates = [candidate("blimpet", (good, one)), candidate("blimpet", (good, several))]
    few, many = MaskedCheck(lm, "replace").run(candidates)
    assert few.neighbours < many.neighbours
    assert few.error > many.error > 0


def test_the_neighbours_of_a_context_are_masked_together(lm, monkeypatch):
    monkeypatch.setattr("rarewords.network.reading_type", lambda _: torch.float32)
    sentence = "She peeled the blimpet with her thumbs and gave half of it to her brother."
    held_out = (Context(sentence, sentence.index("blimpet"), sentence.index("blimpet") + 7),)
    (found,) = MaskedCheck(lm, "replace").run([candidate("blimpet", (embedding(lm, "fruit"), held_out))])
    masked, truth = sentence, ("peeled", "thumbs", "gave")
    for word in truth:
        masked = masked.replace(word, "[MASK]")
    ids = lm.tokenizer(masked, return_tensors="pt").input_ids
    with torch.no_grad():
        scores = lm.model(ids).logits[0].log_softmax(-1)
    places = (ids[0] == lm.tokenizer.mask_token_id).nonzero()[:, 0].tolist()
    wanted = [float(scores[at, lm.whole_words[word]]) for at, word in zip(places, truth, strict=True)]
    assert (found.contexts, found.neighbours) == (1, 3)
    assert found.subwords == pytest.approx(np.mean(wanted), abs=1e-4)


def test_a_neighbour_that_is_split_behind_a_bracket_is_left_out():
    small = LanguageModel(*small_model("roberta"))
    known = [one for one in small.whole_words if len(one) > 3 and one.lower() not in FUNCTION_WORDS]
    words = [one for one in known if len(small.tokenizer.tokenize(one)) > 1][:2]
    sentence = f"the {words[0]} blimpet ({words[1]})"
    start = sentence.index("blimpet")
    given = candidate("blimpet", (np.zeros(32, np.float32), (Context(sentence, start, start + 7),)))
    (found,) = MaskedCheck(small, "append").run([given])
    assert (found.contexts, found.neighbours) == (1, 1)


def test_without_a_neighbour_to_mask_there_is_no_result(lm):
    silent = candidate("blimpet", (embedding(lm, "fruit"), (Context("Blimpet!", 0, 7),)))
    assert MaskedCheck(lm, "replace").run([silent]) == [None]


def test_words_are_skipped_only_if_they_get_worse_for_sure(lm):
    one = candidate("blimpet", (embedding(lm, "fruit"), occurrences_of("blimpet", 4)))
    (found,) = MaskedCheck(lm, "append").run([one])
    assert found.threshold == pytest.approx(-2 * found.error)
    assert found.verdict != "worse"


def test_mismatch_is_lower_for_what_the_model_knows_and_drops_where_an_embedding_helps(lm):
    words = ["violin", "torvane"]
    rows = np.stack([embedding(lm, "violin"), embedding(lm, "violin")])
    known, unknown = MaskedCheck(lm, "append").mismatch(words, rows)
    assert 0 <= known.mismatch < unknown.mismatch <= 1
    assert unknown.drop > max(known.drop, 0.05)
    assert len(known.answers) == 3


def test_the_answers_shown_are_those_before_and_after(lm):
    contexts = tuple(sentences_of("torvane", most=3).splitlines())
    one = Candidate(HoldOut("torvane", 3, contexts, ()), embedding(lm, "violin"), np.zeros((0, lm.dim)), 1.0, 3)
    (shown,) = MaskedCheck(lm, "append").show([one])
    query = Query(shown.question, "torvane")
    assert shown.before == tuple(lm.fill([query], top_k=5).words(0))
    taught = Query(shown.question, "torvane", one.embedding, "append")
    assert shown.after == tuple(lm.fill([taught], top_k=5).words(0))
    assert shown.before != shown.after


def result(gain, error=0.1, threshold=0.0):
    return CheckResult(4, 9, -4.0, -4.0 + gain, error, threshold)


def test_the_verdict_follows_gain_and_error():
    assert [result(gain).verdict for gain in (0.2, 0.05, -0.01)] == ["better", "unclear", "worse"]
    assert [result(gain, threshold=-0.2).verdict for gain in (0.11, -0.19, -0.21)] == ["better", "unclear", "worse"]
    assert [result(gain, threshold=0.2).verdict for gain in (0.31, 0.25, 0.19)] == ["better", "unclear", "worse"]


def test_the_reason_gives_the_rule_with_its_numbers():
    assert result(0.14).reason == "gain +0.14 ± 0.10, above the limit of +0.00"
    assert result(-0.3, threshold=-0.2).reason == "gain -0.30 ± 0.10, below the limit of -0.20"

"""Which sentences are held out, which neighbours are asked for, and what a good and a bad vector get."""

import numpy as np
import pytest

from rarewords import InputError, TeachSettings
from rarewords.teaching.judging import Candidate, judge, neighbours
from rarewords.teaching.lessons import Use, split_uses
from tests.teaching.invented import hypernyms, sentences_of


def uses_of(word, count=None):
    lines = sentences_of(word).splitlines()[:count]
    places = [line.lower().index(word) for line in lines]
    return [Use(line, at, at + len(word)) for line, at in zip(lines, places, strict=True)]


def numbered(count):
    return [Use(f"Sentence {number} has a blimpet.", 17, 24) for number in range(count)]


@pytest.mark.parametrize(("count", "held_out", "learned"), [(16, 4, 12), (31, 7, 24), (60, 8, 32)])
def test_of_many_sentences_a_quarter_is_held_out_and_not_learned_from(count, held_out, learned):
    lesson = split_uses("blimpet", count, numbered(count), TeachSettings())
    (trial,) = lesson.trials
    judged = {use.sentence for use in trial.judged}
    assert (len(judged), len(lesson.learned)) == (held_out, learned)
    assert judged.isdisjoint(lesson.learned)
    assert lesson.judged_as_taught


@pytest.mark.parametrize("count", [2, 3, 4, 5, 12, 15])
def test_of_few_sentences_each_is_judged_once_by_what_was_learned_from_others(count):
    lesson = split_uses("blimpet", count, numbered(count), TeachSettings())
    assert len(lesson.learned) == count
    assert len(lesson.trials) == min(4, count)
    judged = [use.sentence for trial in lesson.trials for use in trial.judged]
    assert sorted(judged) == sorted(lesson.learned)
    for trial in lesson.trials:
        own = {use.sentence for use in trial.judged}
        assert trial.learned
        assert own.isdisjoint(trial.learned)
        assert {*own, *trial.learned} == set(lesson.learned)
    assert not lesson.judged_as_taught


def test_one_sentence_cannot_judge():
    lesson = split_uses("blimpet", 1, numbered(1), TeachSettings())
    assert (len(lesson.learned), lesson.trials) == (1, ())


def test_neighbours_are_the_nearest_content_words_and_the_text_around_stays(lm):
    use = uses_of("blimpet")[0]
    found = neighbours(lm, use, 2)
    assert [place.pattern for place in found] == [
        "She _ the <W> with her thumbs and gave half of it to her brother.",
        "She peeled the <W> with her _ and gave half of it to her brother.",
    ]
    for place in found:
        word = next(name for name, token in lm.whole_words.items() if token == place.token)
        assert place.pattern.replace("_", word).replace("<W>", "blimpet").lower() == use.sentence.lower()


def test_marks_of_patterns_in_the_text_itself_do_no_harm(lm):
    sentence = "The _ ripe blimpet <W> fell from the big tree."
    start = sentence.index("blimpet")
    found = neighbours(lm, Use(sentence, start, start + 7), 6)
    assert len(found) == 4  # ripe, fell, big, tree
    assert all(place.pattern.count("_") == 1 and place.pattern.count("<W>") == 1 for place in found)
    lm.log_likelihood([_query(place) for place in found], [place.token for place in found])
    assert neighbours(lm, Use("a [MASK] blimpet fell down", 9, 16), 6) == []


def test_the_vector_of_the_right_kind_is_judged_better_than_a_wrong_one(lm):
    def embedding(word):
        return lm.embeddings[lm.pieces(word)[0]].numpy()

    right = wrong = 0.0
    for word in ("blimpet", "torvane", "yurla"):
        kind = hypernyms()[word][1][0]
        candidates = [
            Candidate(word, embedding(name), tuple(uses_of(word, 5))) for name in (kind, "parliament")
        ]
        good, bad = judge(lm, candidates, places=6, slash=False)
        assert good.places == bad.places >= 15
        assert good.pieces == bad.pieces
        right, wrong = right + good.gain, wrong + bad.gain
    assert right > 0 > wrong


def test_nothing_to_ask_is_no_judgement(lm):
    candidate = Candidate("blimpet", np.zeros(lm.dim, np.float32), (Use("Blimpet!", 0, 7),))
    assert judge(lm, [candidate], places=6, slash=False) == [None]


def test_settings_are_checked():
    for wrong in ({"mix": "both"}, {"method": "magic"}, {"below": 1}, {"sentences": 0}):
        with pytest.raises(InputError):
            TeachSettings(**wrong)


def _query(place):
    from rarewords import Query

    return Query(place.pattern, "blimpet")

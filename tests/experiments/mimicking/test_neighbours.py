"""Keywords that are approximated in their own sentences."""

from dataclasses import replace

import pytest

from experiments.mimicking import neighbours
from experiments.mimicking.sample import main
from experiments.mimicking.study import FREQUENT, QUICK, Study
from rarewords._internal.files import read_json


@pytest.fixture(scope="module")
def sample(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("mimicking") / "sample"
    main(corpus.path, folder, min_count=2, most=3, limit=150, contexts=6)
    return folder


def test_a_sample_has_as_many_words_of_several_subwords_as_asked_and_sentences_of_them(lm, corpus, sample):
    rows = [line.split("\t") for line in (sample / "counts.tsv").read_text("utf-8").splitlines()]
    parts = dict(
        zip([word for word, *_ in rows], map(len, lm.tokens.subwords_of([row[0] for row in rows])), strict=True)
    )
    chosen = {word: int(count) for word, count, in_text in rows if in_text == "1"}
    several = {word: count for word, count in chosen.items() if parts[word] > 1}
    assert {word for word, own in parts.items() if own == 1} == chosen.keys() - several.keys()
    assert sum(count < FREQUENT for count in several.values()) == 3
    text = (sample / "text.txt").read_text("utf-8").split()
    assert all(text.count(word) >= min(count, 6) for word, count in several.items() if word.isalpha())
    assert [int(count) for _, count, _ in rows] == [corpus.count(word) for word, *_ in rows]


def test_token_distillation_takes_the_rate_that_is_best_on_dev(lm, sample, tmp_path, monkeypatch):
    study = Study(lm, sample, tmp_path, replace(QUICK, entries=150, keywords=(2, 3)))
    monkeypatch.setattr(neighbours, "STEPS", 2)
    monkeypatch.setattr(neighbours, "RATES", (1e-3, 1.0))
    neighbours.distill_tokens(study)
    found = read_json(tmp_path / "sampled-token-distillation.json")
    best = max(found["dev"], key=found["dev"].get)
    assert found["rate"] == float(best)
    assert 0 < len(found["words"]) == len(set(found["words"])) <= 3
    assert not {*found["words"]} & {*study.sampled["dev"]}
    assert all(len(lm.subwords(word)) > 1 and study.corpus.count(word) for word in found["words"])
    asked = [entry for entry in study.dataset("test") if entry.word.text in found["words"]]
    assert len(found["replace"]) == len(asked)

"""An interrupted evaluation resumes: finished shards are not computed again."""

import pytest

from rarewords import LanguageModel
from rarewords._internal.cache import Cache
from rarewords.wnlampro import probing
from rarewords.wnlampro.dataset import Dataset
from rarewords.wnlampro.probing import EvalSettings, evaluate


def test_finished_shards_are_reused_for_the_same_questions_only(lm, bundled, tmp_path, monkeypatch):
    sample = Dataset(bundled.select(limit=24), "a sample")
    monkeypatch.setattr(probing, "QUERIES_PER_SHARD", 35)
    asked, fill = [], LanguageModel.fill

    def failing(self, queries, **options):
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(len(queries))
        return fill(self, queries, **options)

    cache, expected = Cache(tmp_path), evaluate(lm, sample).rank.tolist()
    monkeypatch.setattr(LanguageModel, "fill", failing)
    with pytest.raises(KeyboardInterrupt):
        evaluate(lm, sample, cache=cache)
    asked[:] = [0, 0, 0]  # from here on nothing fails
    assert evaluate(lm, sample, cache=cache).rank.tolist() == expected
    again = sum(asked)
    assert 0 < again < evaluate(lm, sample).settings["queries"]
    asked[:] = [0, 0, 0]
    assert evaluate(lm, sample, cache=cache).rank.tolist() == expected
    assert sum(asked) == 0
    evaluate(lm, sample, EvalSettings(method="first"), cache=cache)
    assert sum(asked) > 0

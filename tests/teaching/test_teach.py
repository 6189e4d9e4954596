"""Teaching the bundled model real words: the folder, the report, and what an interruption leaves behind."""

import hashlib
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from rarewords import InputError, LanguageModel, Query, TeachSettings, WordVectors, teach
from rarewords.corpus.build import build
from rarewords.corpus.count_only import count_words
from rarewords.corpus.settings import CorpusSettings
from rarewords.mimic.mimicking import AttentiveMimicking, Inferred
from rarewords.mimic.settings import preset
from rarewords.teaching import learning
from rarewords.teaching.cards import teaching_card
from rarewords.teaching.plan import plan_teaching
from rarewords.teaching.probing import RelationScore, probe_words
from rarewords.teaching.words import choose_words
from rarewords.teaching.work import WorkFolder
from tests.teaching.invented import sentences_of

WORDS = ["torvane", "yurla"]
SENTENCES = 6
STAGES = ["Corpus", "Words", "Vectors", "Judgement", "WNLaMPro", "Model"]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "invented.txt"
    path.write_text(sentences_of(*WORDS, most=SENTENCES), "utf-8")
    return path


@pytest.fixture(scope="module")
def seconds():
    """How long things took."""
    return {}


@pytest.fixture(scope="module")
def taught(text, seconds, tmp_path_factory):
    started = time.perf_counter()
    result = teach([text], tmp_path_factory.mktemp("taught") / "model", words=WORDS, workers=1)
    seconds["taught"] = time.perf_counter() - started
    return result


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_the_folder_is_an_ordinary_model_that_reads_the_words_as_taught(taught, lm):
    assert {one.word for one in [*taught.words, *taught.worse]} == set(WORDS)
    assert taught.words
    new = LanguageModel.from_pretrained(taught.folder, device="cpu")
    for one in taught.words:
        article = "an" if one.word[0] in "aeiou" else "a"
        question = f"{article} {one.word} is a kind of _."
        assert len(new.pieces(one.word)) == 1
        assert tuple(new.fill([Query(question)], top_k=5).words(0)) == one.after
        assert tuple(lm.fill([Query(question)], top_k=5).words(0)) == one.before
    for one in taught.worse:
        assert len(new.pieces(one.word)) > 1


def test_the_answers_are_better_and_the_report_says_so(taught):
    after = {one.word: one.after for one in taught.words}
    found = {"torvane": "instrument", "yurla": "drink"}
    assert any(found[word] in answers for word, answers in after.items())
    before, now = taught.held_out
    assert now > before
    assert all(one.judgement.sentences == one.sentences == SENTENCES for one in taught.words)
    report = json.loads((taught.folder / "teaching.json").read_text("utf-8"))
    assert [one["word"] for one in report["words"]] == [one.word for one in taught.words]
    assert report["settings"]["mix"] == "replace"
    card = (taught.folder / "README.md").read_text("utf-8")
    for one in taught.words:
        assert f"| {one.word} " in card
    assert f"{now:.3f} with their vectors" in card
    assert str(taught.folder.parent) not in card


def test_interrupted_after_every_stage_it_ends_with_the_same_bytes(taught, text, lm, tmp_path, monkeypatch):
    out = tmp_path / "model"
    finished = WorkFolder.finished
    for stage in STAGES[:-1]:

        def stop(self, name, stage=stage):
            finished(self, name)
            if name == stage:
                raise KeyboardInterrupt

        monkeypatch.setattr(WorkFolder, "finished", stop)
        with pytest.raises(KeyboardInterrupt):
            teach([text], out, words=WORDS, workers=1, model=lm)
        assert not out.exists()
        assert (tmp_path / "model.work").is_dir()
    monkeypatch.undo()
    # What was made before is not made again: nothing that makes vectors is called any more.
    monkeypatch.setattr(learning, "judge", None)
    teach([text], out, words=WORDS, workers=1, model=lm)
    assert digests(out) == digests(taught.folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_stopped_in_the_middle_of_a_stage_it_ends_with_the_same_bytes(text, lm, tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "WORDS_AT_ONCE", 1)
    whole = teach([text], tmp_path / "whole", words=WORDS, workers=1, model=lm)
    made = learning._make_part
    calls = []

    def stop(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return made(*arguments)

    monkeypatch.setattr(learning, "_make_part", stop)
    with pytest.raises(KeyboardInterrupt):
        teach([text], tmp_path / "again", words=WORDS, workers=1, model=lm)
    monkeypatch.setattr(learning, "_make_part", made)
    teach([text], tmp_path / "again", words=WORDS, workers=1, model=lm)
    assert digests(tmp_path / "again") == digests(whole.folder)


def test_killed_by_force_it_goes_on_with_the_same_bytes(taught, text, tmp_path):
    command = [sys.executable, "-m", "rarewords", "teach", "--text", text, "--out", tmp_path / "model"]
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    command += ["--words", tmp_path / "words.txt", "--workers", "1", "--device", "cpu"]
    command = [str(part) for part in command]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    for line in process.stderr:
        if line.startswith("Vectors"):
            process.send_signal(signal.SIGKILL)
            break
    process.wait(timeout=60)
    process.stderr.close()
    assert process.returncode == -signal.SIGKILL
    teach([text], tmp_path / "model", words=WORDS, workers=1, device="cpu")
    assert digests(tmp_path / "model") == digests(taught.folder)


def test_a_word_that_reads_worse_is_left_out_and_named(text, lm, tmp_path, monkeypatch):
    opened = learning.open_learner

    class Spoiled:
        """The real learner, but one word gets another vector: one that means something else."""

        def __init__(self, lm, learner):
            self.lm, self.learner = lm, learner

        def infer(self, word, contexts):
            found = self.learner.infer(word, contexts)
            other = self.lm.embeddings[self.lm.pieces("parliament")[0]].numpy()
            return found if word != "yurla" else Inferred(word, 3 * other, 1.0, found.weights)

    def spoiled(lm, settings, mimic=None):
        learner, key = opened(lm, settings, mimic)
        return Spoiled(lm, learner), key

    monkeypatch.setattr("rarewords.teaching.run.open_learner", spoiled)
    taught = teach([text], tmp_path / "model", words=WORDS, workers=1, model=lm)
    assert "yurla" in [one.word for one in taught.worse]
    assert "yurla" not in [one.word for one in taught.words]
    assert "yurla: its vector did worse" in (tmp_path / "model" / "README.md").read_text("utf-8")
    kept = teach(
        [text], tmp_path / "kept", words=WORDS, workers=1, model=lm, settings=TeachSettings(keep_all=True)
    )
    assert {one.word for one in kept.words} == set(WORDS)
    assert "yurla" in [one.word for one in kept.worse]


def test_slash_leaves_the_words_in_pieces_and_adds_tokens_behind(text, tmp_path, lm):
    settings = TeachSettings(mix="slash")
    taught = teach([text], tmp_path / "model", words=WORDS, workers=1, model=lm, settings=settings)
    new = LanguageModel.from_pretrained(taught.folder, device="cpu")
    one = taught.words[0]
    assert new.pieces(one.word) == lm.pieces(one.word)
    asked = f"a {one.word} / <{one.word}> is a kind of _."
    article = "an" if one.word[0] in "aeiou" else "a"
    asked = asked.replace("a ", f"{article} ", 1)
    assert tuple(new.fill([Query(asked)], top_k=5).words(0)) == one.after


def test_without_a_list_the_text_is_searched_and_counts_are_bounded(text, lm):
    counted = count_words([text], CorpusSettings(), workers=1)
    found = choose_words(counted, lm.tokens, TeachSettings(min_count=6)).counts
    assert set(WORDS) == set(found)
    assert choose_words(counted, lm.tokens, TeachSettings(min_count=6, below=6)).counts == {}
    few = choose_words(counted, lm.tokens, TeachSettings(min_count=1, most_words=2)).counts
    assert set(few) == set(WORDS)  # those that lose most come first


def test_words_that_cannot_be_one_token_are_refused_before_the_work(lm):
    counted = (["naïvetéx", "naivetex", "torvane", "c-3po"], [9, 9, 9, 9])
    listed = ["naïvetéx", "naivetex", "torvane", "torvane", "world"]
    chosen = choose_words(counted, lm.tokens, TeachSettings(), listed)
    assert list(chosen.counts) == ["naïvetéx", "torvane"]
    assert "the same word" in chosen.refused["naivetex"]


def test_the_plan_is_of_the_order_of_the_real_thing(taught, seconds, text, tmp_path):
    plan = plan_teaching([text], tmp_path / "model", words=[*WORDS, "world", "zzyzx"], workers=1)
    assert set(plan.words) == {one.word for one in [*taught.words, *taught.worse]}
    assert "one piece" in plan.refused["world"]
    assert "does not contain" in plan.refused["zzyzx"]
    assert seconds["taught"] / 5 < plan.total_seconds < 5 * seconds["taught"]
    assert plan.as_json()["total_seconds"] == pytest.approx(plan.total_seconds, abs=0.1)
    assert list(tmp_path.iterdir()) == []


def test_real_words_are_probed_with_wnlampro(lm):
    lemon, parliament = (lm.embeddings[lm.pieces(word)[0]].numpy() for word in ("lemon", "parliament"))
    good = probe_words(lm, WordVectors(["persimmon", "blimpet"], np.stack([lemon, lemon])), slash=False)
    bad = probe_words(lm, WordVectors(["persimmon"], parliament[None]), slash=False)
    assert [score["relation"] for score in good["scores"]] == ["hypernym", "cohyponym", "all"]
    assert good["scores"][-1]["words"] == 1
    assert good["scores"][-1]["entries"] == len(good["ranks"])
    assert good["scores"][-1]["before"] == bad["scores"][-1]["before"]
    assert good["scores"][-1]["after"] > bad["scores"][-1]["after"]
    none = probe_words(lm, WordVectors(["blimpet"], lemon[None]), slash=False)
    assert none == {"reason": "the data set has none of the words", "scores": [], "ranks": []}


def test_a_score_that_fell_is_said(taught):
    scores = (RelationScore("hypernym", 1, 1, 0.5, 0.25), RelationScore("cohyponym", 1, 1, 0.25, 0.5))
    other = replace(taught, scores=scores)
    assert other.fell == ("hypernym",)
    vectors = WordVectors(["yurla"], np.zeros((1, 4), np.float32))
    assert "worse than before in: hypernym." in teaching_card(other, vectors, {"yurla": 1})
    assert "worse than before" not in teaching_card(replace(taught, scores=scores[1:]), vectors, {})


def test_a_mimic_model_of_ones_own_makes_the_vectors(text, lm, tmp_path):
    store = build([text], tmp_path / "store", CorpusSettings(), workers=1)
    settings = preset("am", min_count=3, epochs=1, ngram_threshold=1)
    AttentiveMimicking.fit(lm, store, None, settings).save_pretrained(tmp_path / "mimic")
    chosen = TeachSettings(method="am", keep_all=True)
    taught = teach(
        [],
        tmp_path / "model",
        words=WORDS,
        corpus=store.path,
        mimic=tmp_path / "mimic",
        settings=chosen,
        model=lm,
    )
    assert {one.word for one in taught.words} == set(WORDS)
    assert all(0 < one.context_share <= 1 for one in taught.words)
    assert taught.settings.method == "am"
    shipped = teach([], tmp_path / "shipped", words=WORDS, corpus=store.path, settings=chosen, model=lm)
    assert {one.word for one in shipped.words} == set(WORDS)  # without a folder, the one that ships


def test_two_processes_do_not_teach_the_same_folder(text, lm, tmp_path):
    from filelock import FileLock

    (tmp_path / "model.work").mkdir()
    with FileLock(tmp_path / "model.work" / "lock"), pytest.raises(InputError, match="another process"):
        teach([text], tmp_path / "model", words=WORDS, workers=1, model=lm)

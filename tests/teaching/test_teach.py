"""Teaching the bundled model real words: the folder, the report, and what an interruption leaves behind."""

import hashlib
import json
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from filelock import FileLock

from rarewords import InputError, LanguageModel, Query, WordLearner, WordVectors, scan, teach
from rarewords.corpus.build import build
from rarewords.corpus.settings import CorpusSettings
from rarewords.forget import taught_words
from rarewords.mimic.attentive import AttentiveMimicking
from rarewords.mimic.settings import preset
from rarewords.models import load_pretrained
from rarewords.teaching import learning
from rarewords.teaching.judge import Probed, RelationScore
from rarewords.teaching.outcome import teaching_card
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.teach import Task
from tests.teaching.invented import sentences_of

WORDS = ["torvane", "yurla"]
CONTEXTS = 6


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "invented.txt"
    path.write_text(sentences_of(*WORDS, most=CONTEXTS), "utf-8")
    return path


@pytest.fixture(scope="module")
def taught(text, lm, tmp_path_factory):
    return teach([text], tmp_path_factory.mktemp("taught") / "model", words=WORDS, workers=1, model=lm)


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def test_the_folder_is_an_ordinary_model_that_reads_the_words_as_taught(taught, lm):
    assert {one.word for one in [*taught.words, *taught.worse]} == set(WORDS)
    assert taught.words
    new = LanguageModel.from_pretrained(taught.folder, device="cpu")
    for one in taught.words:
        article = "an" if one.word[0] in "aeiou" else "a"
        question = f"{article} {one.word} is a kind of _."
        assert new.pieces(one.word) == [
            *lm.pieces(one.word),
            *lm.tokens.behind_a_word("/"),
            new.pieces(one.word)[-1],
        ]
        assert tuple(new.fill([Query(question)], top_k=5).words(0)) == one.after
        assert tuple(lm.fill([Query(question)], top_k=5).words(0)) == one.before
    for one in taught.worse:
        assert new.pieces(one.word) == lm.pieces(one.word)


def test_the_answers_are_better_and_the_report_says_so(taught):
    after = {one.word: one.after for one in taught.words}
    found = {"torvane": "instrument", "yurla": "drink"}
    assert any(found[word] in answers for word, answers in after.items())
    before, now = taught.held_out
    assert now > before
    assert all(one.judgement.contexts == one.contexts == CONTEXTS for one in taught.words)
    report = json.loads((taught.folder / "teaching.json").read_text("utf-8"))
    assert [one["word"] for one in report["words"]] == [one.word for one in taught.words]
    assert report["settings"]["slash"] is True
    assert report["learner"] == "default"
    card = (taught.folder / "README.md").read_text("utf-8")
    for one in taught.words:
        assert f"| {one.word} " in card
    assert f"{now:.3f} with their vectors" in card
    assert str(taught.folder.parent) not in card


def test_interrupted_after_every_stage_it_ends_with_the_same_bytes(taught, text, lm, tmp_path, monkeypatch):
    out = tmp_path / "model"
    for stage in ("Corpus", "Words", "Vectors"):

        def stop(said, stage=stage):
            if said.startswith(stage):
                raise KeyboardInterrupt

        monkeypatch.setattr("rarewords.teaching.teach.message", stop)
        with pytest.raises(KeyboardInterrupt):
            teach([text], out, words=WORDS, workers=1, model=lm)
        assert not out.exists()
        assert (tmp_path / ".model.work").is_dir()
    monkeypatch.undo()
    # Finished work is not repeated: nothing that makes or judges vectors is called any more.
    for name in ("judge", "_make"):
        monkeypatch.setattr(learning, name, lambda *_, **__: pytest.fail("done before"))
    teach([text], out, words=WORDS, workers=1, model=lm)
    assert digests(out) == digests(taught.folder)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_stopped_in_the_middle_of_a_stage_it_ends_with_the_same_bytes(text, lm, tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "WORDS_PER_PART", 1)
    whole = teach([text], tmp_path / "whole", words=WORDS, workers=1, model=lm)
    make, calls = learning._make, []

    def stop(lm, learner, part):
        calls.append(part[0].word)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return make(lm, learner, part)

    monkeypatch.setattr(learning, "_make", stop)
    with pytest.raises(KeyboardInterrupt):
        teach([text], tmp_path / "again", words=WORDS, workers=1, model=lm)
    teach([text], tmp_path / "again", words=WORDS, workers=1, model=lm)
    assert calls == ["torvane", "yurla", "yurla"]
    assert digests(tmp_path / "again") == digests(whole.folder)


def test_killed_by_force_it_resumes_with_the_same_bytes(taught, text, lm, tmp_path):
    command = [sys.executable, "-m", "rarewords", "teach", text, "--out", tmp_path / "model"]
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    command += ["--words", tmp_path / "words.txt", "--workers", "1", "--device", "cpu"]
    command = [str(part) for part in command]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    for line in process.stderr:
        if line.startswith("Vectors"):
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    process.stderr.close()
    assert process.returncode == -signal.SIGKILL
    teach([text], tmp_path / "model", words=WORDS, workers=1, model=lm)
    assert digests(tmp_path / "model") == digests(taught.folder)


class Spoiled(WordLearner):
    """The real learner, but one word gets a vector that means something else, and another gets none."""

    key = "spoiled"

    def infer_each(self, tasks):
        other = self.lm.embeddings[self.lm.pieces("parliament")[0]].numpy()
        return [
            replace(made, vector=3 * other)
            if made.word == "yurla"
            else None
            if made.word == "jorrin"
            else made
            for made in super().infer_each(tasks)
        ]


def test_words_that_do_worse_or_get_no_vector_are_left_out_and_named(lm, tmp_path, monkeypatch):
    words = [*WORDS, "jorrin"]
    (tmp_path / "text.txt").write_text(sentences_of(*words, most=CONTEXTS), "utf-8")
    given = {"words": words, "workers": 1, "model": lm}
    monkeypatch.setattr("rarewords.teaching.teach.learner_for", lambda lm, *_: (Spoiled(lm), "spoiled"))
    taught = teach([tmp_path / "text.txt"], tmp_path / "model", **given)
    assert "yurla" in [one.word for one in taught.worse]
    assert "yurla" not in [one.word for one in taught.words]
    assert "resembles no known word" in taught.refused["jorrin"]
    card = (tmp_path / "model" / "README.md").read_text("utf-8")
    assert "- yurla: its vector is not expected to help (" in card
    assert "- jorrin: its contexts say nothing" in card
    settings = TeachSettings(keep_all=True)
    kept = teach([tmp_path / "text.txt"], tmp_path / "kept", settings=settings, **given)
    assert {one.word for one in kept.words} == set(WORDS)
    assert "yurla" in [one.word for one in kept.worse]


def test_teaching_a_taught_folder_adds_to_it(taught, lm, tmp_path):
    (tmp_path / "more.txt").write_text(sentences_of("wibbard", most=CONTEXTS), "utf-8")
    words, out = ["wibbard"], tmp_path / "more"
    given = {"words": words, "workers": 1, "settings": TeachSettings(keep_all=True)}
    more = teach([tmp_path / "more.txt"], out, model=taught.folder, **given)
    alone = teach([tmp_path / "more.txt"], tmp_path / "alone", model=lm, **given)
    # Learned and judged with the model as it was before any word was taught.
    (ours,), (theirs,) = more.words, alone.words
    assert (ours.before, ours.after, ours.verdict) == (theirs.before, theirs.after, theirs.verdict)
    assert ours.judgement.gain == pytest.approx(theirs.judgement.gain, abs=1e-4)
    assert [one.word for one in taught_words(out)] == [*(one.word for one in taught.words), "wibbard"]
    first, both = (LanguageModel.from_pretrained(folder, device="cpu") for folder in (taught.folder, out))
    for one in (*taught.words, *more.words):
        question = [Query(f"a {one.word} is a kind of _.")]
        assert tuple(both.fill(question, top_k=5).words(0)) == one.after
    assert np.array_equal(both.embeddings[: len(first.embeddings)], first.embeddings)
    card = (out / "README.md").read_text("utf-8")
    assert all(one.word in card for one in (*taught.words, *more.words))


def test_a_word_can_be_one_token_instead(text, tmp_path, lm):
    settings = TeachSettings(slash=False, keep_all=True)
    taught = teach([text], tmp_path / "model", words=WORDS, workers=1, model=lm, settings=settings)
    new = LanguageModel.from_pretrained(taught.folder, device="cpu")
    one = taught.words[0]
    assert len(new.pieces(one.word)) == 1
    article = "an" if one.word[0] in "aeiou" else "a"
    asked = f"{article} {one.word} is a kind of _."
    assert tuple(new.fill([Query(asked)], top_k=5).words(0)) == one.after


def test_a_hundred_contexts_are_read_where_a_hundred_are_asked_for(lm, tmp_path, monkeypatch):
    """More than the learner's own setting, which is for callers that give no number."""
    given, read = [], WordLearner.infer_each

    def watched(self, tasks):
        made = read(self, tasks)
        given.extend(
            (len(contexts), len(one.weights)) for (_, contexts), one in zip(tasks, made, strict=True)
        )
        return made

    monkeypatch.setattr(WordLearner, "infer_each", watched)
    lines = [f"In year {year} she drank a cup of torvane with milk.\n" for year in range(120)]
    (tmp_path / "text.txt").write_text("".join(lines), "utf-8")
    settings = TeachSettings(contexts=100, keep_all=True)
    texts, out = [tmp_path / "text.txt"], tmp_path / "model"
    taught = teach(texts, out, words=["torvane"], workers=1, model=lm, settings=settings)
    assert WordLearner.for_model(lm).settings.contexts < 100
    assert given == [(100, 100)]
    assert taught.words[0].contexts == 100
    report = json.loads((out / "teaching.json").read_text("utf-8"))
    assert report["words"][0]["contexts"] == 100


def test_a_score_that_fell_is_reported(taught):
    scores = (RelationScore("hypernym", 1, 1, 0.5, 0.25), RelationScore("cohyponym", 1, 1, 0.25, 0.5))
    other = replace(taught, probed=Probed(scores))
    assert other.fell == ("hypernym",)
    assert other.as_json()["wnlampro"]["scores"][0]["after"] == 0.25
    vectors = WordVectors(["yurla"], np.zeros((1, 4), np.float32))
    assert "lower than before for: hypernym." in teaching_card(other, vectors, {"yurla": 1})
    assert other.warning == ""  # one relation may fall by chance; all of them together must not
    fallen = replace(taught, probed=Probed((RelationScore("all", 9, 9, 0.5, 0.25),)))
    assert fallen.warning.startswith("the words taught do worse than before on WNLaMPro: MRR .500 before")
    assert "**Warning:**" in teaching_card(fallen, vectors, {"yurla": 1})
    better = replace(taught, probed=Probed(scores[1:]))
    assert "lower than before" not in teaching_card(better, vectors, {})


def test_a_bar_in_a_word_or_a_question_does_not_end_a_cell_of_the_card(taught):
    word = replace(taught.words[0], word="tor|vane", question="<W> | _")
    vectors = WordVectors(["tor|vane"], np.zeros((1, 4), np.float32))
    card = teaching_card(replace(taught, words=(word,)), vectors, {"tor|vane": 1})
    assert r"| tor\|vane | `… \| _` |" in card


def test_a_list_of_words_decides_what_a_word_is(tmp_path):
    def rule(words, rule=None):
        return Task(["text"], tmp_path, TeachSettings(rule=rule), words).settings.rule

    assert [rule(WORDS), rule(None), rule(WORDS, "english")] == ["any", "english", "english"]


def test_a_model_that_cannot_be_loaded_again_is_refused_before_the_work(text, tmp_path, monkeypatch):
    lm = LanguageModel(*load_pretrained(), name=str(tmp_path / "gone"))
    monkeypatch.setattr("rarewords.teaching.teach.Task.open_store", lambda *_: pytest.fail("work"))
    with pytest.raises(InputError, match="gone"):
        teach([text], tmp_path / "model", words=WORDS, workers=1, model=lm)


def test_a_scan_passes_over_words_that_the_model_was_taught(taught, text):
    missing = [
        {one.word for one in scan([text], str(name), workers=1).missing}
        for name in ("default", taught.folder)
    ]
    assert missing[0] - missing[1] == {one.word for one in taught.words}


def test_an_attentive_mimicking_model_makes_the_vectors(text, lm, tmp_path):
    store = build([text], tmp_path / "store", CorpusSettings(), workers=1)
    settings = preset("am", min_count=3, epochs=1, ngram_threshold=1)
    AttentiveMimicking.fit(lm, store, None, settings).save_pretrained(tmp_path / "mimic")
    given = {"words": WORDS, "corpus": store.path, "model": lm, "settings": TeachSettings(keep_all=True)}
    own = teach([], tmp_path / "own", learner=tmp_path / "mimic", **given)
    shipped = teach([], tmp_path / "shipped", learner="am", **given)
    assert (own.learner, shipped.learner) == ("mimic", "am")
    for taught in (own, shipped):
        assert {one.word for one in taught.words} == set(WORDS)
        assert all(0 < one.context_share <= 1 for one in taught.words)
    assert own.words[0].context_share != shipped.words[0].context_share


def test_two_processes_do_not_teach_the_same_folder(text, lm, tmp_path):
    (tmp_path / ".model.work").mkdir()
    with FileLock(tmp_path / ".model.work" / "lock"), pytest.raises(InputError, match="another process"):
        teach([text], tmp_path / "model", words=WORDS, workers=1, model=lm)

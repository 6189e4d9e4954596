"""Teaching models real words: from any text, in any number of runs, and after any interruption."""

import hashlib
import json
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from filelock import FileLock
from transformers import AutoModelForMaskedLM

from rarewords import (
    AttentiveMimicking,
    Corpus,
    CorpusSettings,
    LanguageModel,
    Query,
    TeachSettings,
    WordEmbeddings,
    WordLearner,
    scan,
    teach,
)
from rarewords.injection.forget import taught_words
from rarewords.mimic.settings import preset
from rarewords.teaching import candidates
from rarewords.teaching.words import TAUGHT
from tests.architectures import small_model
from tests.cli.run import rarewords
from tests.errors import refused_with
from tests.teaching.invented import sentences_of

WORDS = ["torvane", "yurla"]
CONTEXTS = 6
KEEP_ALL = TeachSettings(keep_all=True)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "invented.txt"
    path.write_text(sentences_of(*WORDS, most=CONTEXTS), "utf-8")
    return path


@pytest.fixture(scope="module")
def taught(text, lm):
    return teach(lm, texts=text, words=WORDS)


@pytest.fixture(scope="module")
def folder(taught, tmp_path_factory):
    """The folder of the taught model."""
    out = tmp_path_factory.mktemp("taught") / "model"
    taught.save_pretrained(out)
    return out


@pytest.fixture
def small():
    """A model that is taught in a moment."""
    return LanguageModel(*small_model("bert"))


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def weights(model):
    return {name: value.clone() for name, value in model.state_dict().items()}


def question_about(word):
    return [Query(f"{'an' if word[0] in 'aeiou' else 'a'} {word} is a kind of _.")]


# What comes out


def test_the_folder_is_an_ordinary_model_that_reads_the_words_as_taught(taught, folder, lm):
    assert [one.word for one in taught.words] == WORDS
    assert taught.taught
    new = LanguageModel.from_pretrained(folder, device="cpu")
    for one in taught.taught:
        assert new.subwords(one.word) == [
            *lm.subwords(one.word),
            *lm.tokens.behind_a_word("/"),
            new.subwords(one.word)[-1],
        ]
        assert tuple(new.fill(question_about(one.word), top_k=5).words(0)) == one.after
        assert tuple(lm.fill(question_about(one.word), top_k=5).words(0)) == one.before
    for one in taught.worse:
        assert new.subwords(one.word) == lm.subwords(one.word)


def test_the_answers_are_better_and_the_check_agrees(taught):
    after = {one.word: one.after for one in taught.taught}
    found = {"torvane": "instrument", "yurla": "drink"}
    assert any(found[word] in answers for word, answers in after.items())
    before, now = taught.held_out
    assert now > before
    assert all(one.check.contexts == one.contexts == CONTEXTS for one in taught.taught)
    assert taught.learner == "default"


def test_a_definition_is_enough(lm):
    result = teach(lm, glossary={"torvane": "a musical instrument with strings"})
    (one,) = result.taught
    assert "instrument" in one.after
    assert "instrument" not in one.before
    assert (one.verdict, one.contexts) == ("not checked", 0)
    assert tuple(result.language_model.fill(question_about("torvane"), top_k=5).words(0)) == one.after


def test_a_word_can_be_one_token_instead(text, small):
    settings = TeachSettings(placement="replace", keep_all=True)
    result = teach(small, texts=text, words=WORDS, settings=settings)
    one = result.taught[0]
    assert len(result.language_model.subwords(one.word)) == 1
    assert tuple(result.language_model.fill(question_about(one.word), top_k=5).words(0)) == one.after


# What goes in


@pytest.mark.parametrize("form", ["list", "generator", "records", "path", "corpus", "corpus folder"])
def test_texts_in_every_form_teach_the_same(form, small, tmp_path):
    lines = sentences_of(*WORDS, most=CONTEXTS).splitlines()
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines), "utf-8")
    texts = {
        "list": lambda: lines,
        "generator": lambda: (line for line in lines),
        "records": lambda: [{"text": line} for line in lines],
        "path": lambda: path,
        "corpus": lambda: Corpus.build(lines, tmp_path / "corpus", CorpusSettings(words="any"), workers=1),
        "corpus folder": lambda: str(
            Corpus.build(lines, tmp_path / "corpus", CorpusSettings(words="any"), workers=1).path
        ),
    }
    result = teach(small, texts=texts[form](), words=WORDS, settings=KEEP_ALL)
    expected = teach(small, texts=str(path), words=WORDS, settings=KEEP_ALL)
    assert result.words == expected.words
    assert torch.equal(result.language_model.embeddings, expected.language_model.embeddings)


def test_a_loaded_model_of_transformers_is_taught_and_stays_as_it_is(small, text, tmp_path):
    small.save_pretrained(tmp_path / "small")
    given = AutoModelForMaskedLM.from_pretrained(tmp_path / "small")
    given.train()
    before = weights(given)
    result, taught = (teach(one, texts=text, words=WORDS, settings=KEEP_ALL) for one in (given, small))
    assert type(result.model) is type(given)
    assert result.model is not given
    assert given.training
    assert all(parameter.requires_grad for parameter in given.parameters())
    assert weights(given).keys() == before.keys()
    assert all(torch.equal(value, before[name]) for name, value in weights(given).items())
    assert result.words == taught.words
    assert len(result.tokenizer) == len(taught.tokenizer)


def test_a_loaded_language_model_is_taught_and_stays_as_it_is(lm, taught):
    assert len(lm.embeddings) == len(lm.tokenizer) == 30522
    assert taught.language_model is not lm
    forms = sum(len(one.forms) for one in taught.taught)  # the plurals of appended words have entries, too
    assert len(taught.language_model.embeddings) == 30522 + len(taught.taught) + forms


def test_the_same_teaching_gives_the_same_files(small, text, tmp_path):
    for name in ("one", "two"):
        teach(small, texts=text, words=WORDS, settings=KEEP_ALL).save_pretrained(tmp_path / name)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


@pytest.mark.slow
def test_an_attentive_mimicking_model_makes_the_embeddings(text, lm, tmp_path):
    corpus = Corpus.build(text, tmp_path / "corpus", workers=1)
    settings = preset("am", min_count=3, epochs=1, ngram_threshold=1)
    fitted = AttentiveMimicking.fit(lm, corpus, None, settings)
    fitted.save_pretrained(tmp_path / "mimic")
    given = {"words": WORDS, "texts": corpus, "settings": KEEP_ALL}
    own, shipped, loaded = (teach(lm, learner=learner, **given) for learner in (tmp_path / "mimic", "am", fitted))
    assert [one.learner for one in (own, shipped, loaded)] == ["mimic", "am", "AttentiveMimicking"]
    for result in (own, shipped):
        assert [one.word for one in result.taught] == WORDS
        assert all(0 < one.context_share <= 1 for one in result.taught)
    assert own.words[0].context_share != shipped.words[0].context_share
    assert own.words == loaded.words


def test_a_hundred_contexts_are_read_where_a_hundred_are_asked_for(small, monkeypatch):
    """More than the learner's own setting, which is for callers that give no number."""
    given, read = [], WordLearner.learn_each

    def watched(self, tasks):
        learned = read(self, tasks)
        given.extend((len(task.sentences), len(one.weights)) for task, one in zip(tasks, learned, strict=True))
        return learned

    monkeypatch.setattr(WordLearner, "learn_each", watched)
    lines = [f"In year {year} she drank a cup of torvane with milk." for year in range(120)]
    settings = TeachSettings(contexts=100, keep_all=True)
    result = teach(small, texts=lines, words=["torvane"], settings=settings)
    assert WordLearner.for_model(small).settings.contexts < 100
    assert given == [(100, 100)]
    assert result.words[0].contexts == 100


# Words that are not taught


class Spoiled(WordLearner):
    """The real learner, but one word gets an embedding that means something else, and another gets none."""

    key = "spoiled"

    def learn_each(self, tasks):
        mean, row = self.lm.embeddings.mean(dim=0), self.lm.whole_words["parliament"]
        wrong = (mean + 8 * (self.lm.embeddings[row] - mean)).numpy()
        spoiled = {"torvane": lambda one: replace(one, embedding=wrong), "jorrin": lambda _: None}
        return [spoiled.get(one.word, lambda one: one)(one) for one in super().learn_each(tasks)]


def test_words_that_do_worse_or_get_no_embedding_are_skipped_and_named(lm):
    words = [*WORDS, "jorrin"]
    given = {"texts": [sentences_of(*words, most=CONTEXTS)], "words": words, "learner": Spoiled(lm)}
    result = teach(lm, **given)
    assert result.learner == "Spoiled"
    assert [one.word for one in result.worse] == ["torvane"]
    assert [one.word for one in result.taught] == ["yurla"]
    assert result.language_model.subwords("torvane") == lm.subwords("torvane")
    assert result.skipped == {"jorrin": candidates.NOTHING}
    card = result.card().split("## Skipped words")[1]
    assert "- torvane: gain -" in card
    assert f"- {candidates.NOTHING}: 1 (jorrin)" in card
    kept = teach(lm, settings=KEEP_ALL, **given)
    assert [one.word for one in kept.taught] == WORDS
    assert [one.word for one in kept.worse] == ["torvane"]


def test_if_no_word_can_be_taught_the_first_reason_is_given(lm):
    with refused_with("nothing-to-teach") as refused:
        teach(lm, texts=["Nothing of the kind."], words=["zzyzx", "world"])
    assert "'zzyzx'" in str(refused.value)


# More than one run


def test_teaching_a_taught_folder_adds_to_it(taught, folder, lm, tmp_path):
    given = {"texts": [sentences_of("wibbard", most=CONTEXTS)], "words": ["wibbard"], "settings": KEEP_ALL}
    more, alone = teach(folder, device="cpu", **given), teach(lm, **given)
    # Learned and checked with the model as it was before any word was taught.
    (ours,), (theirs,) = more.words, alone.words
    assert (ours.before, ours.after, ours.verdict) == (theirs.before, theirs.after, theirs.verdict)
    assert ours.check.gain == pytest.approx(theirs.check.gain, abs=1e-4)
    more.save_pretrained(tmp_path / "more")
    assert [one.word for one in taught_words(tmp_path / "more")] == [*(one.word for one in taught.taught), "wibbard"]
    for one in (*taught.taught, *more.taught):
        assert tuple(more.language_model.fill(question_about(one.word), top_k=5).words(0)) == one.after
    before = taught.language_model.embeddings
    assert torch.equal(more.language_model.embeddings[: len(before)], before)
    assert all(f"| {one.word} " in more.card() for one in (*taught.taught, *more.taught))
    assert more.base == taught.base


@pytest.mark.slow
def test_two_runs_give_the_model_and_the_words_of_one_run(lm):
    words = [*WORDS, "wibbard"]
    given = {"texts": [sentences_of(*words, most=CONTEXTS)], "settings": KEEP_ALL}
    one = teach(lm, words=words, **given)
    first = teach(lm, words=words[:2], **given)
    second = teach(first.language_model, words=words[2:], **given)
    assert second.tokenizer.backend_tokenizer.to_str() == one.tokenizer.backend_tokenizer.to_str()
    torch.testing.assert_close(second.language_model.embeddings, one.language_model.embeddings, atol=1e-5, rtol=0)
    assert second.model.config.rarewords_first_token == one.model.config.rarewords_first_token
    in_both = [*first.words, *second.words]
    assert [(word.word, word.after, word.verdict) for word in in_both] == [
        (word.word, word.after, word.verdict) for word in one.words
    ]
    assert all(f"| {word} " in second.card() for word in words)
    assert [word["word"] for word in second.report()["earlier"][0]["words"]] == words[:2]


def test_words_that_were_taught_before_are_skipped_with_the_reason(small):
    lines = sentences_of(*WORDS, "jorrin", most=4).splitlines()
    taught = teach(small, texts=lines, words=WORDS, settings=KEEP_ALL).language_model
    listed = teach(taught, texts=lines, words=[*WORDS, "jorrin"], settings=KEEP_ALL)
    assert [one.word for one in listed.words] == ["jorrin"]
    assert listed.skipped == dict.fromkeys(WORDS, TAUGHT)
    searched = teach(taught, texts=lines, settings=KEEP_ALL)
    assert "jorrin" in [one.word for one in searched.words]
    assert {word for word, reason in searched.skipped.items() if reason == TAUGHT} == set(WORDS)
    found = scan(lines, taught, settings=KEEP_ALL)
    assert {one.word: one.skipped for one in found.words if one.skipped} == searched.skipped


# Interruptions


def test_interrupted_after_every_stage_the_same_call_resumes(taught, folder, text, lm, tmp_path, monkeypatch):
    for stage in ("Corpus", "Words", "Embeddings"):

        def stop(said, stage=stage):
            if said.startswith(stage):
                raise KeyboardInterrupt

        monkeypatch.setattr("rarewords.teaching.teach.message", stop)
        monkeypatch.setattr("rarewords.teaching.prepare.message", stop)
        with pytest.raises(KeyboardInterrupt):
            teach(lm, texts=text, words=WORDS, work=tmp_path / "work")
    monkeypatch.undo()
    # Finished work is not repeated: nothing that reads text, or makes or checks embeddings, is called.
    for name in ("candidates._check", "candidates._learn", "prepare.build"):
        monkeypatch.setattr(f"rarewords.teaching.{name}", lambda *_, **__: pytest.fail("done before"))
    again = teach(lm, texts=text, words=WORDS, work=tmp_path / "work")
    assert again.words == taught.words
    again.save_pretrained(tmp_path / "model")
    assert digests(tmp_path / "model") == digests(folder)


def test_work_of_another_text_is_not_reused(small, text, tmp_path):
    given = {"words": ["torvane"], "settings": KEEP_ALL, "work": tmp_path / "work"}
    teach(small, texts=text, **given)
    lines = ["A torvane is an animal.", "They saw a torvane in the forest."]
    assert (
        teach(small, texts=lines, **given).words
        == teach(small, texts=lines, words=["torvane"], settings=KEEP_ALL).words
    )


@pytest.mark.slow
def test_killed_by_force_the_command_resumes_with_the_same_bytes(folder, text, tmp_path):
    (tmp_path / "words.txt").write_text("\n".join(WORDS))
    command = ["teach", text, "--out", tmp_path / "model", "--words", tmp_path / "words.txt"]
    command = [str(part) for part in (*command, "--workers", "1", "--device", "cpu")]
    process = subprocess.Popen(
        [sys.executable, "-m", "rarewords", *command], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    for line in process.stderr:
        if line.startswith("Embeddings"):
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    process.stderr.close()
    assert process.returncode == -signal.SIGKILL
    assert (tmp_path / ".model.work").is_dir()
    rarewords(*command)
    assert digests(tmp_path / "model") == digests(folder)
    assert not (tmp_path / ".model.work").exists()


def test_two_processes_do_not_share_a_work_folder(small, text, tmp_path):
    (tmp_path / "work").mkdir()
    with FileLock(tmp_path / "work" / "lock"), refused_with("busy"):
        teach(small, texts=text, words=WORDS, work=tmp_path / "work")


def test_a_word_added_by_hand_counts_as_taught(small, text):
    own = small.copy()
    own.add_words(WordEmbeddings(["yurla"], np.ones((1, own.dim), np.float32)), placement="append")
    result = teach(own, texts=text, words=WORDS, settings=KEEP_ALL)
    assert [one.word for one in result.taught] == ["torvane"]
    assert result.skipped == {"yurla": TAUGHT}
    row = result.language_model.subwords("yurla")[-1]
    assert torch.equal(result.language_model.embeddings[row], torch.ones(own.dim))
    assert json.loads(json.dumps(result.as_json()))["skipped"] == {"yurla": TAUGHT}

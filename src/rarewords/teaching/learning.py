"""Vectors for words and a judgement of each, a few words at a time so that little is lost in a crash."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rarewords.errors import InputError
from rarewords.files import file_digest
from rarewords.lm import LanguageModel, Query
from rarewords.mimic.files import bundled_mimic
from rarewords.mimic.mimicking import AttentiveMimicking, Inferred
from rarewords.probe.patterns import patterns_for
from rarewords.progress import Bar, progress
from rarewords.teaching.judging import Candidate, Judgement, judge
from rarewords.teaching.lessons import Lesson
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.work import WorkFolder, content_key
from rarewords.vectors import WordVectors

WORDS_AT_ONCE = 64
_ANSWERS = 5


class Learner(Protocol):
    """What makes a vector from sentences."""

    def infer(self, word: str, contexts: Sequence[str]) -> Inferred:
        """The vector of a word from sentences that contain it."""


@dataclass(frozen=True)
class Learned:
    """What was found out about one word.

    :param sentences: how many sentences its vector was made from.
    :param context_share: how much came from the sentences; the rest came from the spelling.
    :param before: the model's first answers to ``a <W> is a kind of _.`` with the word's pieces.
    :param after: the same with its vector.
    :param judgement: None where nothing could be held out.
    """

    word: str
    count: int
    sentences: int
    context_share: float
    before: tuple[str, ...]
    after: tuple[str, ...]
    judgement: Judgement | None


def open_learner(
    lm: LanguageModel, settings: TeachSettings, mimic: str | Path | None = None
) -> tuple[Learner, str]:
    """What makes the vectors, and a name for its content that differs where vectors would differ."""
    from rarewords.mimic.learner import WordLearner
    from rarewords.mimic.learner_files import is_learner

    trained_reader = mimic is not None and is_learner(Path(mimic))
    if settings.method == "am" and not trained_reader:
        folder = bundled_mimic(lm.fingerprint) if mimic is None else Path(mimic)
        loaded = AttentiveMimicking.from_pretrained(folder, lm)
        files = [file_digest(folder / name) for name in ("config.json", "model.safetensors", "ngrams.txt")]
        return loaded, content_key("am", files)
    if mimic is not None and not trained_reader:
        raise InputError(f"{mimic} is no learner of readings; add --method am or leave it out")
    learner = WordLearner.for_model(lm, mimic)
    matrix = "" if learner.transform is None else _digest(learner.transform.cpu().numpy())
    return learner, content_key("auto", asdict(learner.settings), matrix)


def _digest(matrix: np.ndarray) -> str:
    return hashlib.sha256(matrix.tobytes()).hexdigest()


def learn(
    lm: LanguageModel,
    learner: Learner,
    lessons: Sequence[Lesson],
    settings: TeachSettings,
    work: WorkFolder,
    key: str,
) -> tuple[list[Learned], WordVectors, dict[str, str]]:
    """Teach and judge all words: what was learned, the vectors, and words that got none with the reason."""
    learned: list[Learned] = []
    words: list[str] = []
    rows: list[np.ndarray] = []
    refused: dict[str, str] = {}
    parts = [lessons[i : i + WORDS_AT_ONCE] for i in range(0, len(lessons), WORDS_AT_ONCE)]
    vectors = []
    with progress("Making vectors", total=len(lessons), unit="words") as bar:
        for part in parts:
            vectors.append(
                _make_part(learner, part, work, content_key(key, [asdict(one) for one in part]), bar)
            )
    work.finished("Vectors")
    with progress("Judging", total=len(lessons), unit="words") as bar:
        for part, made in zip(parts, vectors, strict=True):
            part_key = content_key(key, settings.places, settings.mix, [asdict(one) for one in part])
            stored = work.json("judged", part_key, partial(_judge_part, lm, part, made, settings))
            learned += [_learned(entry) for entry in stored]
            refused |= made.settings["refused"]
            words += [word for word in made.words if " " not in word]
            rows += [made[word] for word in made.words if " " not in word]
            bar.advance(len(part))
    work.finished("Judgement")
    matrix = np.stack(rows) if rows else np.zeros((0, lm.dim), np.float32)
    return learned, WordVectors(words, matrix), refused


def _make_part(learner: Learner, part: Sequence[Lesson], work: WorkFolder, key: str, bar: Bar) -> WordVectors:
    """Vectors of some words, and of their trials as ``word 0``, ``word 1``; kept in the work folder."""
    path = work.file("vectors", key, ".safetensors")
    if path.exists():
        bar.advance(len(part))
        return WordVectors.load(path)
    tasks: dict[str, tuple[str, tuple[str, ...]]] = {}
    for lesson in part:
        tasks[lesson.word] = (lesson.word, lesson.learned)
        if not lesson.judged_as_taught:
            tasks |= {
                f"{lesson.word} {number}": (lesson.word, trial.learned)
                for number, trial in enumerate(lesson.trials)
            }
    found, refused = _infer_all(learner, tasks)
    bar.advance(len(part))
    shares = {one.word: found[one.word].context_share for one in part if one.word not in refused}
    vectors = {name: found[name].vector for name, (word, _) in tasks.items() if word not in refused}
    settings = {"shares": shares, "refused": refused}
    made = WordVectors(vectors, np.stack(list(vectors.values())) if vectors else _NOTHING, settings)
    made.save(path)
    return made


def _infer_all(
    learner: Learner, tasks: Mapping[str, tuple[str, Sequence[str]]]
) -> tuple[dict[str, Inferred], dict[str, str]]:
    """Every vector by name, and the words that can get none with the reason."""
    from rarewords.mimic.learner import WordLearner

    if isinstance(learner, WordLearner):
        try:
            return dict(zip(tasks, learner.infer_each(list(tasks.values())), strict=True)), {}
        except InputError:
            pass  # one of them; which, is seen when they are asked for one by one
    found, refused = {}, {}
    for name, (word, sentences) in tasks.items():
        try:
            found[name] = learner.infer(word, sentences)
        except InputError as error:
            refused[word] = str(error)
    return found, refused


def _judge_part(
    lm: LanguageModel, part: Sequence[Lesson], vectors: WordVectors, settings: TeachSettings
) -> list[dict[str, Any]]:
    lessons = [lesson for lesson in part if lesson.word in vectors]
    candidates = [
        Candidate(
            lesson.word,
            vectors[lesson.word if lesson.judged_as_taught else f"{lesson.word} {number}"],
            trial.judged,
        )
        for lesson in lessons
        for number, trial in enumerate(lesson.trials)
    ]
    judged = judge(lm, candidates, places=settings.places, slash=settings.slash)
    before, after = _answers(lm, [lesson.word for lesson in lessons], vectors, slash=settings.slash)
    result, place = [], 0
    for row, lesson in enumerate(lessons):
        own = judged[place : place + len(lesson.trials)]
        place += len(lesson.trials)
        joined = join_judgements([one for one in own if one is not None])
        result.append(
            {
                "word": lesson.word,
                "count": lesson.count,
                "sentences": len(lesson.learned),
                "context_share": round(float(vectors.settings["shares"][lesson.word]), 6),
                "before": before[row],
                "after": after[row],
                "judgement": asdict(joined) if joined else None,
            }
        )
    return result


def join_judgements(judgements: Sequence[Judgement]) -> Judgement | None:
    """Several judgements of one word as one, each neighbour counting the same."""
    places = sum(one.places for one in judgements)
    if not places:
        return None
    return Judgement(
        sum(one.sentences for one in judgements),
        places,
        round(sum(one.pieces * one.places for one in judgements) / places, 6),
        round(sum(one.vector * one.places for one in judgements) / places, 6),
    )


def _answers(
    lm: LanguageModel, words: Sequence[str], vectors: WordVectors, *, slash: bool
) -> tuple[list[list[str]], list[list[str]]]:
    """The first answers to the plainest question about each word, before and after."""
    patterns = [patterns_for("hypernym", word)[-1] for word in words]
    asked = list(zip(patterns, words, strict=True))
    queries = [Query(pattern, word) for pattern, word in asked]
    queries += [Query(pattern, word, vectors[word], slash) for pattern, word in asked]
    if not queries:
        return [], []
    answers = lm.fill(queries, top_k=_ANSWERS)
    found = [answers.words(row) for row in range(len(queries))]
    return found[: len(words)], found[len(words) :]


def _learned(entry: dict[str, Any]) -> Learned:
    judgement = Judgement(**entry["judgement"]) if entry["judgement"] else None
    lists = {name: tuple(entry[name]) for name in ("before", "after")}
    return Learned(**{**entry, **lists, "judgement": judgement})


_NOTHING = np.zeros((0, 1), np.float32)

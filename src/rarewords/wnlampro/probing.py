"""Asking a model every pattern of every entry, and ranking the targets among its answers.

In float32 the last digits of a logit depend on the rest of the batch and on the machine, so two answers of
nearly equal probability may swap places. If a rank or a precision depends on such digits, the query is
computed again in float64. Ranks therefore do not depend on batch size, order, sharding or device.
"""

import copy
import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from typing import Literal, NamedTuple

import numpy as np
import torch

from rarewords._internal.cache import Cache, key_of
from rarewords._internal.progress import progress
from rarewords._internal.schema import bounded, check_bounds
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.lm import LanguageModel
from rarewords.models import shown_name
from rarewords.ota.approximate import one_token_approximation
from rarewords.ota.settings import BASELINES
from rarewords.queries import Answers, Query
from rarewords.tokens import Placement, Tokens
from rarewords.wnlampro.dataset import Dataset, Entry, patterns_for
from rarewords.wnlampro.result import RANK_LIMIT, ProbeResult, score

_ANSWERS_KEPT = 10
# Log-probabilities of the same query in float32 differ by up to 7e-6 between batch sizes; four times that.
CLOSE = 3e-5
QUERIES_PER_SHARD = 8192


@dataclass(frozen=True)
class EvalSettings:
    """Which entries are asked, and what stands for the keyword.

    :param method: ``subwords`` leaves the keyword to the tokenizer. ``first``, ``last`` and ``avg`` replace a
        keyword of several subwords with one embedding, made from their embeddings; ``embeddings`` replaces
        each keyword that has a given embedding.
    :param subset: ``dev``, ``test`` or ``all``.
    :param limit: ask at most N entries, evenly spread.
    :param placement: ``append`` shows ``kumquat / <embedding>``, BERTRAM's slash variant, not the embedding alone.
    :param depth: the number of answers to rank; the metrics use the first 100.
    """

    method: Literal["subwords", "first", "last", "avg", "embeddings"] = "subwords"
    subset: Literal["dev", "test", "all"] = "all"
    limit: int | None = None
    placement: Placement = "replace"
    depth: int = bounded(RANK_LIMIT, at_least=RANK_LIMIT)

    def __post_init__(self) -> None:
        check_bounds(self)
        if self.method == "subwords" and self.placement == "append":
            raise InputError("append needs embeddings; the method subwords has none", code="wnlampro")


def evaluate(
    lm: LanguageModel,
    dataset: Dataset,
    settings: EvalSettings | None = None,
    *,
    embeddings: WordEmbeddings | None = None,
    label: str | None = None,
    cache: Cache | None = None,
    answers: bool = False,
) -> ProbeResult:
    """Probe a model.

    :param embeddings: for the method ``embeddings``.
    :param label: the name of the result in tables; by default the model and the method.
    :param cache: keeps finished work, so that an interrupted evaluation resumes.
    :param answers: keep each entry's best question with its first answers.
    """
    settings = settings or EvalSettings()
    entries = dataset.select(subset=settings.subset, limit=settings.limit)
    if settings.depth >= len(lm.embeddings):
        problem = f"the depth {settings.depth} exceeds the vocabulary of {len(lm.embeddings)} tokens"
        raise InputError(problem, code="settings")
    targets = {target.text for entry in entries for target in entry.targets}
    known = len(targets & lm.whole_words.keys()) / len(targets)
    if known < 0.5:
        few = f"{lm.name} has only {known:.0%} of the target words of {dataset.name} in its vocabulary"
        raise InputError(f"{few}; build a data set for it (wnlampro build)", code="tokenizer")
    replacing = _replacements(lm, entries, settings, embeddings)
    questions = [_questions(lm, entry, replacing.get(entry.word.text), settings.placement) for entry in entries]
    asked = [question for group in questions for question in group]
    parts = []
    with progress("Filling blanks", total=len(asked), unit="queries") as bar:
        for start in range(0, len(asked), QUERIES_PER_SHARD):
            parts.append(_answers(lm, settings.depth, cache, asked[start : start + QUERIES_PER_SHARD]))
            bar.advance(len(parts[-1]))
    answered = np.split(np.concatenate(parts), np.cumsum([len(group) for group in questions])[:-1])
    found = [np.isin(rows, group[0].targets) for group, rows in zip(questions, answered, strict=True)]
    rank, hits3, hits10 = np.array([score(one) for one in found]).T
    chosen, model = asdict(settings), shown_name(lm.name)
    record = {
        "label": label or f"{model} {settings.method}",
        "model": model,
        "fingerprint": lm.fingerprint,
        "dtype": str(lm.dtype).removeprefix("torch."),
        "dataset": dataset.digest,
        "set": chosen.pop("subset"),
        **chosen,
        "queries": len(asked),
        "keywords_with_embeddings": len(replacing),
        "targets_known": round(known, 4),
        "embeddings": None if embeddings is None else dict(embeddings.settings),
    }
    return ProbeResult(
        record,
        id=[entry.id for entry in entries],
        word=[entry.word.text for entry in entries],
        relation=[entry.relation for entry in entries],
        rank=rank,
        hits3=hits3,
        hits10=hits10,
        count=np.array([entry.word.count for entry in entries]),
        answers=list(map(partial(_best_answers, lm.tokens), questions, answered, found)) if answers else (),
    )


class _Question(NamedTuple):
    """A query and the token ids of its targets."""

    query: Query
    targets: tuple[int, ...]


def _questions(lm: LanguageModel, entry: Entry, embedding: np.ndarray | None, placement: Placement) -> list[_Question]:
    word, placement = entry.word.text, "replace" if embedding is None else placement
    # Only targets that are tokens of the model can be answers.
    targets = tuple(lm.whole_words[one.text] for one in entry.targets if one.text in lm.whole_words)
    queries = [Query(pattern, word, embedding, placement) for pattern in patterns_for(entry.relation, word)]
    return [_Question(query, targets) for query in queries]


def _replacements(
    lm: LanguageModel, entries: Sequence[Entry], settings: EvalSettings, embeddings: WordEmbeddings | None
) -> dict[str, np.ndarray]:
    """The keywords that are shown as an embedding. *Shape of each:* (dim,)"""
    if (settings.method == "embeddings") != (embeddings is not None):
        problem = "the method 'embeddings' needs embeddings, and no other method takes them"
        raise InputError(problem, code="wnlampro")
    words = sorted({entry.word.text for entry in entries})
    if settings.method in BASELINES:
        embeddings = one_token_approximation(lm, words, method=settings.method).embeddings
    if embeddings is None:
        return {}
    embeddings.require_dim(lm.dim)
    found = {word: embeddings[word] for word in words if word in embeddings}
    if not found and settings.method == "embeddings":
        problem = "none of the keywords has an embedding; make embeddings for the words of the data set"
        raise InputError(problem, code="nothing-to-teach")
    return found


def _best_answers(tokens: Tokens, questions: Sequence[_Question], ids: np.ndarray, found: np.ndarray) -> str:
    """The question with the best rank and its first answers: ``a kumquat is a _. fruit, plant, …``.

    *Shape* of the answers' ``ids`` and of ``found``, which of them are targets: (questions, depth)
    """
    best = int(np.where(found.any(axis=1), found.argmax(axis=1), found.shape[1]).argmin())
    query, answers = questions[best].query, tokens.text_of(ids[best, :_ANSWERS_KEPT].tolist())
    return f"{query.pattern.replace('<W>', query.word)} {', '.join(answers)}"


def _answers(lm: LanguageModel, depth: int, cache: Cache | None, asked: Sequence[_Question]) -> np.ndarray:
    """The first ``depth`` answers to each query, the most probable first. *Shape:* (queries, depth)"""
    queries = [one.query for one in asked]

    def make() -> dict[str, np.ndarray]:
        # One answer more, to see whether the last place is close to the next.
        answers = lm.fill(queries, top_k=depth + 1)
        ids = answers.ids[:, :depth].astype(np.int32)
        again = _undecided(asked, answers) if lm.dtype == torch.float32 else []
        if again:
            ids[again] = _double(lm).fill([queries[i] for i in again], top_k=depth).ids
        return {"ids": ids}

    if cache is None:
        return make()["ids"]
    # The targets belong to what is asked: only their ranks are exact.
    texts = [(one.pattern, one.word, one.placement, targets) for one, targets in asked]
    shown = b"".join(b"-" if one.embedding is None else np.asarray(one.embedding, "<f4").tobytes() for one in queries)
    about = [texts, hashlib.sha256(shown).hexdigest(), depth, str(lm.dtype)]
    key = key_of(lm.fingerprint, sorted(lm.tokenizer.get_vocab().items()), about)
    return cache.arrays("answers", key, make)["ids"]


def _undecided(asked: Sequence[_Question], answers: Answers) -> list[int]:
    """The queries where last digits decide the rank of the first target or the hits in the first 3 or 10.

    Places beyond the rank limit do not affect any metric and stay as they are.
    """
    ids, log_probs = answers.ids[:, : RANK_LIMIT + 1], answers.log_probs[:, : RANK_LIMIT + 1]
    wanted = np.array([np.isin(row, one.targets) for row, one in zip(ids, asked, strict=True)])
    first = wanted.argmax(axis=1)[:, None]
    # Between places j and j + 1: around the first target, and at the ends of the first 3 and 10.
    j = np.arange(ids.shape[1] - 1)
    borders = (j == first - 1) | (j == first) | (j == 2) | (j == 9)
    undecided = (-np.diff(log_probs, axis=1) < CLOSE) & borders & np.diff(wanted, axis=1)
    return np.flatnonzero(undecided.any(axis=1)).tolist()


@lru_cache(maxsize=1)  # evaluations of one model share it
def _double(lm: LanguageModel) -> LanguageModel:
    device = "cpu" if lm.device.type == "mps" else lm.device  # mps has no float64
    model = copy.deepcopy(lm.model).to(device=device, dtype=torch.float64)
    return LanguageModel(model, lm.tokenizer, name=lm.name)

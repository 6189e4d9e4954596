"""Word embeddings from what the language model itself reads in a word's contexts.

The embedding is a weighted sum of directions from the mean embedding, at the usual distance from it:

* the **reading** of contexts and definitions, moved by one matrix A. A is fitted on known words, which must not
  be expected in their own contexts, so that it brings readings to embeddings; without one, A is the identity;
* the **spelling**, which counts more the more a word resembles a known one;
* the **subwords**, for a word without contexts, by one-token approximation.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from rarewords._internal.cache import Cache, key_of
from rarewords._internal.engine import one_thread
from rarewords._internal.files import reading, whole_folder, write_json
from rarewords._internal.schema import checked_settings
from rarewords.corpus.corpus import Corpus
from rarewords.embeddings import WordEmbeddings
from rarewords.errors import InputError
from rarewords.learner.definitions import DEFINED, WEIGHT, content, read_definitions
from rarewords.learner.evidence import Evidence, LearnedEmbedding, LearnedEmbeddings, require_same_case, ridge
from rarewords.learner.expected import pool, read, read_corpus, shares
from rarewords.learner.known_words import KnownWords
from rarewords.learner.masked import contexts_of_sentences
from rarewords.learner.settings import LEARNER_FORMAT, LearnerSettings, bundled_learner, read_config
from rarewords.learner.spelling import Spelling
from rarewords.lm import LanguageModel
from rarewords.ota.approximate import one_token_approximation

_FEWEST_WORDS, MOST_WORDS = 20, 15_000  # for a fit
_LEAST_RESEMBLANCE = 0.15  # below, the most similar spelling is a coincidence
_HALF_TRUST, _TRUST_WIDTH = 0.5, 0.1  # the resemblance where spelling has half its weight; how fast it rises
_SUBWORDS_ALONE = 0.5  # the weight of the subwords of a word without contexts, where the spelling has 1
_NOTHING = "there is no sentence with it, and no known word is spelled like it; add sentences that contain it"


def usable_words(lm: LanguageModel, corpus: Corpus, min_count: int, leave_out: Iterable[str]) -> list[str]:
    """The words of a corpus that a matrix can be fitted on: known, not too short, not too rare."""
    known = {word for word in lm.whole_words if len(word) > 2}.difference(leave_out)
    return [word for word in corpus.counts(min_count)[0] if word in known]


@dataclass(frozen=True, eq=False)
class WordLearner:
    """Learns words from sentences, definitions and spelling, with a language model.

    :param transform: the matrix A. *Shape:* (dim, dim)
    :param fitted: how A was fitted: on how many ``words``, its ``held_out_cosine``, and more.
    """

    lm: LanguageModel
    settings: LearnerSettings = field(default_factory=LearnerSettings)
    transform: Tensor | None = None
    fitted: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def for_model(cls, lm: LanguageModel) -> Self:
        """The best learner without fitting one: the bundled one if it fits, or one without a matrix."""
        folder = bundled_learner(lm.fingerprint)
        return cls(lm) if folder is None else cls.from_pretrained(folder, lm)

    @classmethod
    def from_pretrained(cls, folder: str | Path, lm: LanguageModel) -> Self:
        """Load a folder written by :meth:`save_pretrained`, for the language model it was fitted for."""
        folder, remedy = Path(folder), "make one with rarewords mimic fit"
        config = read_config(folder, LEARNER_FORMAT, lm.fingerprint, remedy)
        with reading(folder / "model.safetensors", remedy):
            transform = load_file(folder / "model.safetensors").get("transform")
        if transform is not None and tuple(transform.shape) != (lm.dim, lm.dim):
            raise InputError(f"{folder / 'model.safetensors'} is damaged; {remedy}", code="damaged")
        settings = checked_settings(LearnerSettings, config.settings, folder / "config.json")
        return cls(lm, LearnerSettings(**settings), transform, config.fitted)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the learner as a folder. The matrix is stored in half precision, which is exact enough."""
        tensors = {} if self.transform is None else {"transform": self.transform.cpu().half().contiguous()}
        config = {"format": LEARNER_FORMAT, "settings": asdict(self.settings), **self._about}
        with whole_folder(folder) as temporary:
            save_file(tensors, temporary / "model.safetensors", metadata={"format": "pt"})
            write_json(temporary / "config.json", config)

    def with_settings(self, **changes: Any) -> Self:
        """The same learner with some settings changed."""
        return replace(self, settings=replace(self.settings, **changes))

    @property
    def key(self) -> str:
        """A digest of everything the embeddings depend on besides the language model."""
        matrix = b"" if self.transform is None else self.transform.cpu().float().numpy().tobytes()
        return key_of("learner", asdict(self.settings), hashlib.sha256(matrix).hexdigest())

    def learn(self, word: str, sentences: Sequence[str] = (), definition: str | Sequence[str] = ()) -> LearnedEmbedding:
        """The embedding of a word from sentences that contain it and definitions, or else from its spelling."""
        definitions = (definition,) if isinstance(definition, str) else definition
        (made,) = self.learn_each([Evidence(word, sentences, definitions)])
        if made is None:
            raise InputError(f"{word!r}: {_NOTHING}", code="learner")
        return made

    @one_thread()
    def learn_each(self, tasks: Sequence[Evidence]) -> list[LearnedEmbedding | None]:
        """:meth:`learn` for many words; None for a word that has no evidence and resembles no known word.

        A word may come several times with different sentences; each sentence is read once. All sentences
        given are read, whatever ``settings.contexts`` says.
        """
        tasks = [Evidence(*task) for task in tasks]  # plain tuples will do
        pairs = dict.fromkeys((task.word, sentence) for task in tasks for sentence in task.sentences)
        before = {(task.word, one): row for task in tasks for one, row in task.readings.items()}
        new = [pair for pair in pairs if pair not in before]
        masked = contexts_of_sentences(self.lm.tokens, new, length=self._length)
        readings = read(self.lm, self.known, masked, self.settings.reading)
        if before:
            readings = torch.cat([readings, torch.from_numpy(np.stack(list(before.values()))).to(readings)])
        place = {pair: at for at, pair in enumerate([*new, *before])}
        own = [readings[[place[task.word, one] for one in task.sentences]] for task in tasks]
        defined = read_definitions(self.lm, self.known, tasks, self._length)
        weights = torch.tensor([WEIGHT * len(task.definitions) for task in tasks]).to(readings)[:, None]
        words, counts = [task.word for task in tasks], np.array([len(rows) for rows in own], dtype=np.int64)
        numbers = torch.from_numpy(counts).to(readings)[:, None]
        reading = pool(torch.cat([readings[:0], *own]), counts, self.known.mean)
        part = weights / (numbers + weights).clamp_min(1)
        counts += np.array([len(task.definitions) for task in tasks], dtype=np.int64)
        embeddings, share = self.embeddings(words, reading + part * (defined - reading), counts)
        if bool(part.any()):
            said = content(self.lm, self.known, tasks, embeddings)
            moved = self.known.at(self.known.directions(embeddings) + said, DEFINED)
            embeddings = torch.where(part > 0, moved, embeddings)
        made: list[LearnedEmbedding | None] = []
        for word, embedding, used, rows, other in zip(words, embeddings, share.tolist(), own, part, strict=True):
            each = tuple(((1 - other) * shares(rows, self.known, embedding)).tolist())
            found = LearnedEmbedding(word, embedding.cpu().numpy(), used, each, rows.cpu().numpy())
            made.append(found if np.isfinite(used) else None)
        return made

    @one_thread()
    def learn_words(
        self, words: Sequence[str], corpus: Corpus, *, contexts: int | None = None, cache: Cache | None = None
    ) -> LearnedEmbeddings:
        """Embeddings of many words with their contexts from a corpus.

        :param contexts: use at most this many contexts per word; ``settings.contexts`` by default.
        :param cache: keeps what has been read; a later call reads only the rest.
        """
        words = list(dict.fromkeys(words))
        how = self.settings.reading, contexts or self.settings.contexts, self._length
        reading, counts = read_corpus(self.lm, words, corpus, how, cache)
        embeddings, share = (one.cpu().numpy() for one in self.embeddings(words, reading, counts))
        good = np.isfinite(share)
        skipped = {word: _NOTHING for word, yes in zip(words, good, strict=True) if not yes}
        about = {"method": "learner", "learner": asdict(self.settings), **self._about}
        kept = WordEmbeddings([word for word in words if word not in skipped], embeddings[good], about)
        return LearnedEmbeddings(kept, share[good], counts[good], skipped)

    @classmethod
    @one_thread()
    def fit(
        cls,
        lm: LanguageModel,
        corpus: Corpus,
        settings: LearnerSettings | None = None,
        *,
        words: int = MOST_WORDS,
        contexts: int = 16,
        min_count: int = 50,
        leave_out: Sequence[str] = (),
        seed: int = 0,
        cache: Cache | None = None,
    ) -> Self:
        """Fit the matrix on known words of a corpus: mimicking in closed form.

        A minimises the squared distance between A times the mean reading of a word and its own embedding. The
        words are masked: shown, they would give themselves away.

        :param words: learn from at most this many words, drawn at random.
        :param contexts: read at most this many contexts per word.
        :param leave_out: words that must not be learned from, such as those of a test.
        :param cache: keeps what has been read; after an interruption only the rest is read.
        """
        require_same_case(lm, corpus)
        usable = usable_words(lm, corpus, min_count, leave_out)
        if len(usable) < _FEWEST_WORDS:
            few = f"only {len(usable)} known words occur at least {min_count} times in {corpus.path}"
            raise InputError(f"{few}, too few to fit a learner; use more text, or go without one", code="no-text")
        drawn = np.random.default_rng(seed).permutation(len(usable))[:words]
        chosen = [usable[at] for at in sorted(drawn.tolist())]
        learner = cls(lm, settings or LearnerSettings())
        reading, _ = read_corpus(lm, chosen, corpus, ("forbidden", contexts, learner._length), cache)
        own, mean = [lm.whole_words[word] for word in chosen], learner.known.mean
        transform, cosine, penalty = ridge(reading - mean, lm.embeddings[own].float() - mean)
        asked = {"contexts": contexts, "min_count": min_count, "seed": seed}
        fitted = {"words": len(chosen), "held_out_cosine": cosine, "penalty": penalty, **asked}
        return replace(learner, transform=transform, fitted=fitted)

    def embeddings(self, words: Sequence[str], reading: Tensor, counts: np.ndarray) -> tuple[Tensor, Tensor]:
        """Embeddings, and the share of the readings in each; NaN if there is nothing to make one from.

        :param reading: the mean reading of each word, the mean embedding without contexts. *Shape:* (words, dim)
        :param counts: the number of contexts read. *Shape:* (words,)
        :return: *Shapes:* (words, dim), (words,)
        """
        known, read_any = self.known, torch.from_numpy(counts > 0).to(self.lm.device)
        centred = reading.float() - known.mean
        moved = known.mean + centred
        if self.transform is not None:
            moved = known.mean + known.directions(known.mean + centred @ self.transform.to(centred))
        spelling, resemblance = _spelling(self.lm).of(words)
        trust = torch.sigmoid((resemblance - _HALF_TRUST) / _TRUST_WIDTH)
        weight = torch.where(read_any, self.settings.spelling * trust, 1.0)
        subwords, alone = known.mean.repeat(len(words), 1), np.flatnonzero(counts == 0).tolist()
        if alone:
            found = one_token_approximation(self.lm, [words[row] for row in alone], keep_single=True).embeddings
            for row in alone:
                if words[row] in found:  # which it is not with unknown characters
                    subwords[row] = torch.tensor(found[words[row]])
        summed = known.directions(moved) + weight[:, None] * known.directions(spelling)
        embeddings = known.at(summed + _SUBWORDS_ALONE * known.directions(subwords))
        nothing = ~read_any & (resemblance < _LEAST_RESEMBLANCE)
        return embeddings, torch.where(nothing, float("nan"), read_any / (read_any + weight))

    @cached_property
    def known(self) -> KnownWords:
        """The words the model knows."""
        return KnownWords.of(self.lm)

    @property
    def _length(self) -> int:
        return min(self.settings.length, self.lm.max_length - 16)  # room for the shown word and the slash

    @property
    def _about(self) -> dict[str, Any]:
        return {"model": Path(self.lm.name).name, "fingerprint": self.lm.fingerprint, "fitted": self.fitted}


_spelling = lru_cache(maxsize=1)(Spelling)  # learners of one model share it

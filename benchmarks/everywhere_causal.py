"""Causal LMs: invented words by every way to make a vector, and the loss behind taught words."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np
import torch

from benchmarks.measures import candidates, interval
from rarewords import InputError, LanguageModel, teach
from rarewords.forget import taught_tokens
from rarewords.mimic.masked import find_word
from rarewords.models import DEFAULT_MODEL
from rarewords.ota.approximate import batches
from rarewords.ota.contexts import Frame
from rarewords.ota.objective import Batch
from rarewords.ota.settings import OtaSettings
from rarewords.ota.solver import Approximator
from rarewords.rules import words_with_rules
from rarewords.teaching.judge import Made
from rarewords.teaching.learners import learner_for
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import Fold, Split
from rarewords.teaching.target import held_out_sentences, scores_of_what_follows
from tests.teaching.invented import FOLDER, hypernyms, occurrences_of

# In units of the embeddings' mean distance from their mean: Adam's rates, and lengths of a step of OTA.
_RATES, _LENGTHS = (0.001, 0.005, 0.02), (0.02, 0.1, 0.3)
_WORDS_AT_ONCE = 10
_AROUND = 16  # tokens of a sentence on either side of the word


@dataclass(frozen=True)
class Way:
    """Vectors for words (none: the pieces), maybe behind the pieces, text before them, and the cost."""

    title: str
    vectors: Mapping[str, np.ndarray]
    slash: bool = False
    prompts: Mapping[str, str] | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Asked:
    """A causal LM and the question ``A <word> is a kind of`` with its right answers among 2,000 words."""

    lm: LanguageModel
    kinds: Mapping[str, Sequence[str]]
    words: list[str]

    def ranks(self, way: Way) -> np.ndarray:
        """Of the best right answer for each word. *Shape:* (words,)"""
        columns = torch.tensor([self.lm.whole_words[word] for word in self.words])
        ranks = []
        for word, own in self.kinds.items():
            before = (way.prompts or {}).get(word, "") + "A"
            logits = _next(self.lm, before, word, way.vectors.get(word), way.slash)[columns]
            best = max(float(logits[self.words.index(kind)]) for kind in own)
            ranks.append(1 + int((logits > best).sum()))
        return np.array(ranks)


def causal(asked: argparse.Namespace) -> None:
    """The right kind of each invented word, without training anything, and as ``teach`` leaves the model."""
    question, ways = _untrained(asked)
    for way in ways:
        _show(way, question.ranks(way))
    with TemporaryDirectory() as folder:
        out, words = Path(folder) / "taught", list(question.kinds)
        clock = time.perf_counter()
        taught = teach([FOLDER / "text.txt"], out, words=words, model=asked.model)
        seconds = (time.perf_counter() - clock) / len(words)
        lm = LanguageModel.from_pretrained(out, kind="causal")
        title = f"taught, {len(taught.words)} words, {len(taught.replaced)} in place of their pieces"
        _show(Way(title, {}, seconds=seconds), replace(question, lm=lm).ranks(Way(title, {})))


def peers(asked: argparse.Namespace) -> None:
    """The same beside a trained row and token distillation, from the mean and from our vectors.

    Half of the words choose the learning rate; the figure that counts is that of the other half.
    """
    torch.set_float32_matmul_precision("high")
    question, ways = _untrained(asked)
    for way in ways:
        _show(way, question.ranks(way))
    starts = {way.title: way for way in ways}
    for start in ("mean of the pieces", "vector"):
        for make, rates in ((_trained, _RATES), (_distilled, _LENGTHS)):
            tried = [(rate, make(question.lm, starts[start], rate, asked.steps)) for rate in rates]
            ranks = [question.ranks(way) for _, way in tried]
            best = int(np.argmax([np.mean(1 / one[::2]) for one in ranks]))
            for (rate, way), one in zip(tried, ranks, strict=True):
                chosen = " <- chosen" if rate == tried[best][0] else ""
                _show(way, one, f", rate {rate}{chosen}")


def _untrained(asked: argparse.Namespace) -> tuple[Asked, list[Way]]:
    kinds = hypernyms()
    lm, sentences = LanguageModel.from_pretrained(asked.model, kind="causal"), _sentences(kinds)
    start = time.perf_counter()
    maker, _ = learner_for(lm, None, DEFAULT_MODEL)
    made = maker.learner.infer_each(list(sentences.items()))
    ours = {one.word: maker.transport(one.vector[None])[0] for one in made if one}
    seconds = (time.perf_counter() - start) / len(kinds)
    means = {word: lm.embeddings[lm.pieces(word)].float().mean(dim=0).cpu().numpy() for word in kinds}
    prompts = {word: " ".join(own) + " " for word, own in sentences.items()}
    ways = [
        Way("pieces", {}),
        Way("mean of the pieces", means),
        Way("vector", ours, seconds=seconds),
        Way("pieces / vector", ours, slash=True, seconds=seconds),
        Way("sentences in the prompt", {}, prompts=prompts),
    ]
    return Asked(lm, kinds, candidates(lm.whole_words, kinds)), ways


def _show(way: Way, ranks: np.ndarray, more: str = "") -> None:
    first, second, every = (np.mean(1 / one) for one in (ranks[::2], ranks[1::2], ranks))
    print(
        f"{way.title}: MRR {every:.3f} (first half {first:.3f}, second {second:.3f}), "
        f"{way.seconds:.2f} s per word{more}",
        flush=True,
    )


def _sentences(words: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    lines = (FOLDER / "text.txt").read_text("utf-8").splitlines()
    return {word: [line for line in lines if word in line.lower()] for word in words}


def _distilled(lm: LanguageModel, start: Way, rate: float, steps: int) -> Way:
    """One-token approximation in the words' sentences: hidden states behind the word as with its pieces."""
    words, settings, clock = list(start.vectors), OtaSettings(steps=steps, rate=rate), time.perf_counter()
    sentences, pieces = _sentences(dict.fromkeys(words, ())), lm.tokens.pieces_of(words)
    found: dict[str, np.ndarray] = {}
    for rows in batches(lm, pieces):
        own = [words[row] for row in rows]
        began = torch.from_numpy(np.stack([start.vectors[word] for word in own])).to(lm.device)
        texts = [" ".join(sentences[word]) for word in own]
        made = distill(lm, [pieces[row] for row in rows], texts, settings, began)
        found |= dict(zip(own, made.cpu().numpy(), strict=True))
    seconds = start.seconds + (time.perf_counter() - clock) / len(words)
    return Way(f"distilled from {start.title}", found, False, None, seconds)


def distill(
    lm: LanguageModel,
    pieces: Sequence[Sequence[int]],
    texts: Sequence[str],
    settings: OtaSettings,
    start: torch.Tensor | None = None,
) -> torch.Tensor:
    """Vectors of words of the same number of pieces, each compared in its own text. *Shape:* (words, dim)"""
    approximator = Approximator(lm, settings)
    approximator.objective.frame = SentenceFrame.around_words(lm, texts, pieces)
    batch = Batch(torch.tensor(pieces, device=lm.device), torch.arange(len(pieces), device=lm.device))
    return approximator.solve(batch, start=start)


@dataclass(frozen=True)
class SentenceFrame(Frame):
    """Sentences of each word around it, instead of drawn words.

    :param windows: for each word, whose key is its place here, token ids without the word.
        *Shape of each:* (occurrences, places)
    """

    windows: Sequence[torch.Tensor]

    @classmethod
    def around_words(cls, lm: LanguageModel, texts: Sequence[str], pieces: Sequence[Sequence[int]]) -> Self:
        """Windows around each word in its own text.

        A text goes on from its end to its start, so that all windows have the same length.
        """
        start, end = lm.tokens.special_tokens
        end = () if lm.kind == "causal" else end
        windows = []
        for text, word in zip(texts, pieces, strict=True):
            ids = lm.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            found = [
                [*start, *_circle(ids, at - _AROUND), *_circle(ids, at + len(word)), *end]
                for at in range(len(ids))
                if ids[at : at + len(word)] == list(word)
            ]
            if not found:
                name = lm.tokens.tokenizer.decode(list(word)).strip()
                raise InputError(f"{name!r} is nowhere in its sentences; give it some that hold it")
            windows.append(torch.tensor(found, device=lm.device))
        places = len(start) + 2 * _AROUND + len(end)
        blank = torch.zeros(places, dtype=torch.long, device=lm.device)
        return cls(blank, len(start) + _AROUND, blank, blank[:0], windows)

    def sequences(self, pieces: torch.Tensor, keys: torch.Tensor, context: int) -> torch.Tensor:
        """Token ids of each word in occurrence number ``context``, the first again after the last."""
        own = [self.windows[key] for key in keys.tolist()]
        around = torch.stack([windows[context % len(windows)] for windows in own])
        return torch.cat([around[:, : self.left], pieces, around[:, self.left :]], dim=1)


def _circle(ids: Sequence[int], first: int) -> list[int]:
    return [ids[place % len(ids)] for place in range(first, first + _AROUND)]


def _trained(lm: LanguageModel, start: Way, rate: float, steps: int) -> Way:
    """A row trained on the next-token loss of what follows the word, all its sentences at each step."""
    words, clock = list(start.vectors), time.perf_counter()
    vectors = torch.tensor(np.stack(list(start.vectors.values())), device=lm.device, requires_grad=True)
    spread = float((lm.embeddings.float() - lm.embeddings.float().mean(dim=0)).norm(dim=1).mean())
    adam = torch.optim.Adam([vectors], betas=(0.9, 0.95))
    parts = [
        _rows(lm, words, range(at, min(at + _WORDS_AT_ONCE, len(words))))
        for at in range(0, len(words), _WORDS_AT_ONCE)
    ]
    for step in range(steps):
        adam.param_groups[0]["lr"] = rate * spread * (1 + math.cos(math.pi * step / steps)) / 2
        adam.zero_grad()
        for ids, slots, owners, counted in parts:
            logits = lm.model(inputs_embeds=lm.embed(ids, slots, vectors[owners])).logits[:, :-1]
            losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
            (losses * counted).sum().backward()
        adam.step()
    seconds = start.seconds + (time.perf_counter() - clock) / len(words)
    found = vectors.detach().cpu().numpy()
    return Way(f"trained from {start.title}", dict(zip(words, found, strict=True)), False, None, seconds)


def _rows(lm: LanguageModel, words: Sequence[str], owners: range) -> tuple[torch.Tensor, ...]:
    """The sentences of some words with a slot for each word.

    Token ids, slots, owners, and the weight of each next token: those behind a word share one.
    *Shapes:* (rows, length), (rows,), (rows,), (rows, length - 1)
    """
    nothing = np.zeros(lm.dim, np.float32)
    made = [_made(words[owner], occurrences_of(words[owner]), nothing) for owner in owners]
    found = list(held_out_sentences(lm, made, slash=False))
    readings = [one.readings[1] for one in found]
    length = max(len(one.ids) for one in readings)
    ids = torch.tensor([[*one.ids, *[0] * (length - len(one.ids))] for one in readings])
    weights = torch.zeros(len(found), length - 1)
    for row, reading in enumerate(readings):
        weights[row, reading.slot : len(reading.ids) - 1] = 1
    own = torch.tensor([one.owner for one in found])
    sums = torch.zeros(len(made)).index_add(0, own, weights.sum(dim=1))
    weights /= sums[own, None]
    slots = torch.tensor([one.slot for one in readings])
    return tuple(one.to(lm.device) for one in (ids, slots, own + owners.start, weights))


def _made(word: str, occurrences: Sequence[tuple[str, int, int]], vector: np.ndarray) -> Made:
    split = Split(word, len(occurrences), (), (Fold((), tuple(occurrences)),))
    return Made(split, vector, vector[None], 1.0, 0)


def following(asked: argparse.Namespace) -> None:
    """The loss behind taught words in sentences of other documents, with their pieces and as taught."""
    text, out = asked.work / "following.txt", asked.work / "following"
    text.write_text("".join(f"{line}\n" for line in iob_sentences(asked.train)), "utf-8")
    start = time.perf_counter()
    taught = teach([text], out, model=asked.model, settings=TeachSettings(top=asked.words or 1000))
    seconds = time.perf_counter() - start
    print(
        f"{len(taught.words)} words taught ({len(taught.replaced)} in place of their pieces), "
        f"{len(taught.worse)} left alone, {seconds:.0f} s"
    )
    lm, new = (LanguageModel.from_pretrained(place, kind="causal") for place in (asked.model, out))
    tokens, made = taught_tokens(new.model, new.tokenizer), []
    lines = iob_sentences(asked.test)
    for one in taught.words:
        spans = ((line, find_word(one.word, line, lower_case=False)) for line in lines if one.word in line)
        found = [(line, *span) for line, span in spans if span][:20]
        row = new.embeddings[tokens[one.word]].float().cpu().numpy()
        made.append(_made(one.word, found, row))
    sentences = list(held_out_sentences(lm, made, slash=True))
    scores = scores_of_what_follows(lm, sentences)
    owners = np.array([one.owner for one in sentences])
    beside = words_with_rules(new.tokenizer)
    ways = np.array([2 if one.word in beside else 1 for one in taught.words])
    present = sorted(set(owners.tolist()))
    means = np.array([scores[owners == owner].mean(axis=0)[[0, ways[owner]]] for owner in present])
    print(
        f"loss behind the word, {len(present)} words, {len(sentences)} sentences: pieces "
        f"{-means[:, 0].mean():.3f}, taught {-means[:, 1].mean():.3f}, change {interval(means @ [1, -1])}"
    )


def iob_sentences(paths: Sequence[Path]) -> list[str]:
    """The sentences of files with a word and its tag in each line and an empty line between sentences."""
    blocks = (block for path in paths for block in path.read_text("utf-8").split("\n\n"))
    return [" ".join(line.split("\t")[0] for line in block.splitlines()) for block in blocks if block.strip()]


@torch.no_grad()
def _next(lm: LanguageModel, before: str, word: str, vector: np.ndarray | None, slash: bool) -> torch.Tensor:
    """Logits of the token behind ``before word is a kind of``. *Shape:* (vocabulary,)"""
    start, _ = lm.tokens.special_tokens
    left, right = (
        lm.tokenizer(text, add_special_tokens=False)["input_ids"] for text in (before, " is a kind of")
    )
    pieces = lm.pieces(word)
    shown = (
        pieces
        if vector is None
        else [*pieces, *lm.tokens.behind_a_word("/"), pieces[-1]]
        if slash
        else pieces[-1:]
    )
    ids = torch.tensor([[*start, *left, *shown, *right]], device=lm.device)
    if vector is None:
        inputs = lm.embed(ids)
    else:
        slot = torch.tensor([ids.shape[1] - len(right) - 1], device=lm.device)
        inputs = lm.embed(ids, slot, torch.from_numpy(vector)[None].to(lm.device))
    return lm.model(inputs_embeds=inputs).logits[0, -1].float().cpu()

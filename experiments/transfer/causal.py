"""Causal LMs: invented words by every way to make an embedding, and the loss behind taught words."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from experiments.common import invented_sentences, ranks_of
from experiments.transfer.distillation import distill, last_layer
from rarewords import LanguageModel, TeachResult
from rarewords.corpus.corpus import Context
from rarewords.injection.taught import taught_tokens
from rarewords.injection.vocabulary import appended_tokens
from rarewords.learner.masked import find_word
from rarewords.ota.approximate import batches
from rarewords.teaching.check import Candidate
from rarewords.teaching.holdout import Fold, HoldOut
from rarewords.teaching.learners import learner_for
from rarewords.teaching.transfer_check import held_out_sentences, scores_of_what_follows
from rarewords.tokens import Placement

_WORDS_AT_ONCE, _SENTENCES = 10, 20
_IN_THE_PROMPT = (1, 2, 4, 8, 12)  # sentences


@dataclass(frozen=True)
class Way:
    """Embeddings for words (none: the subwords), maybe behind the subwords, text before them, and the cost."""

    title: str
    embeddings: Mapping[str, np.ndarray] = field(default_factory=dict)
    placement: Placement = "replace"
    prompts: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0  # per word


def kind_ranks(lm: LanguageModel, way: Way, kinds: Mapping[str, Sequence[str]], words: Sequence[str]) -> np.ndarray:
    """The rank of the right kind behind ``A <word> is a kind of`` among some words. *Shape:* (words,)"""
    columns = torch.tensor([lm.whole_words[word] for word in words])
    rows = [_next_logits(lm, way, word)[columns] for word in kinds]
    return ranks_of(torch.stack(rows).numpy(), words, kinds)


def untrained_ways(lm: LanguageModel, reader: LanguageModel, sentences: Mapping[str, Sequence[str]]) -> list[Way]:
    """The ways that train nothing."""
    words, clock = list(sentences), time.perf_counter()
    learner, _ = learner_for(lm, reader, None)
    learned = learner.learn_each([(word, own) for word, own in sentences.items()])
    ours = {word: one.embedding for word, one in zip(words, learned, strict=True) if one}
    seconds = (time.perf_counter() - clock) / len(words)
    means = {word: lm.embeddings[lm.subwords(word)].float().mean(dim=0).cpu().numpy() for word in words}
    return [
        Way("subwords"),
        Way("mean of the subwords", means),
        Way("embedding", ours, seconds=seconds),
        Way("subwords / embedding", ours, placement="append", seconds=seconds),
        *(_in_the_prompt(sentences, many) for many in _IN_THE_PROMPT),
    ]


def _in_the_prompt(sentences: Mapping[str, Sequence[str]], many: int) -> Way:
    prompts = {word: " ".join(own[:many]) + " " for word, own in sentences.items()}
    return Way(f"{many} in the prompt", prompts=prompts)


def distilled(lm: LanguageModel, start: Way, rate: float, steps: int) -> Way:
    """Token distillation: last-layer states behind the word as with its subwords, in the word's own sentences."""
    words, clock = list(start.embeddings), time.perf_counter()
    sentences, subwords = invented_sentences(), lm.tokens.subwords_of(words)
    found: dict[str, np.ndarray] = {}
    for rows in batches(lm, subwords):
        own = [words[row] for row in rows]
        begin = torch.from_numpy(np.stack([start.embeddings[word] for word in own])).to(lm.device)
        texts = [" ".join(sentences[word]) for word in own]
        made = distill(lm, [subwords[row] for row in rows], texts, last_layer(lm, rate, steps), begin)
        found |= dict(zip(own, made.cpu().numpy(), strict=True))
    seconds = start.seconds + (time.perf_counter() - clock) / len(words)
    return Way(f"distilled from {start.title}", found, seconds=seconds)


def trained(lm: LanguageModel, start: Way, rate: float, steps: int) -> Way:
    """A row trained on the next-token loss of what follows the word, all its sentences at each step.

    :param rate: Adam's, in units of the embeddings' mean distance from their mean.
    """
    words, clock = list(start.embeddings), time.perf_counter()
    embeddings = torch.tensor(np.stack(list(start.embeddings.values())), device=lm.device, requires_grad=True)
    spread = float((lm.embeddings.float() - lm.embeddings.float().mean(dim=0)).norm(dim=1).mean())
    adam = torch.optim.Adam([embeddings], betas=(0.9, 0.95))
    parts = [
        _rows(lm, words, range(at, min(at + _WORDS_AT_ONCE, len(words)))) for at in range(0, len(words), _WORDS_AT_ONCE)
    ]
    for step in range(steps):
        adam.param_groups[0]["lr"] = rate * spread * (1 + math.cos(math.pi * step / steps)) / 2
        adam.zero_grad()
        for ids, slots, owners, counted in parts:
            logits = lm.model(inputs_embeds=lm.embed(ids, slots, embeddings[owners])).logits[:, :-1]
            losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
            (losses * counted).sum().backward()
        adam.step()
    seconds = start.seconds + (time.perf_counter() - clock) / len(words)
    found = embeddings.detach().cpu().numpy()
    return Way(f"trained from {start.title}", dict(zip(words, found, strict=True)), seconds=seconds)


def losses_behind_words(lm: LanguageModel, done: TeachResult, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The mean loss of the tokens behind each taught word, with its subwords and as taught.

    :param lines: sentences of other text; words that are in none are left out.
    :return: *Shapes:* (words,), (words,)
    """
    new = done.language_model
    tokens, appended = taught_tokens(new.model, new.tokenizer), appended_tokens(new.tokenizer)
    candidates = []
    for word in tokens:
        spans = ((line, find_word(word, line, lower_case=False)) for line in lines if word in line)
        found = [Context(line, *span) for line, span in spans if span][:_SENTENCES]
        row = new.embeddings[tokens[word][0]].float().cpu().numpy()
        candidates.append(_candidate(word, found, row))
    means = []
    for one in candidates:
        placement: Placement = "append" if tokens[one.word][0] in appended else "replace"
        if sentences := list(held_out_sentences(lm, [one], placement=placement)):
            means.append(scores_of_what_follows(lm, sentences).mean(axis=0))
    subwords, taught = -np.array(means).reshape(-1, 2).T
    return subwords, taught


def iob_sentences(paths: Sequence[Path]) -> list[str]:
    """The sentences of files with a word and its tag in each line and an empty line between sentences."""
    blocks = (block for path in paths for block in path.read_text("utf-8").split("\n\n"))
    return [" ".join(line.split("\t")[0] for line in block.splitlines()) for block in blocks if block.strip()]


def _rows(lm: LanguageModel, words: Sequence[str], owners: range) -> tuple[torch.Tensor, ...]:
    """The sentences of some words with a slot for each word.

    Token ids, slots, owners, and the weight of each next token: those behind a word share one.
    *Shapes:* (rows, length), (rows,), (rows,), (rows, length - 1)
    """
    sentences, nothing = invented_sentences(), np.zeros(lm.dim, np.float32)
    candidates = []
    for owner in owners:
        word = words[owner]
        spans = [Context(line, *find_word(word, line, lower_case=True)) for line in sentences[word]]  # type: ignore[misc]
        candidates.append(_candidate(word, spans, nothing))
    found = list(held_out_sentences(lm, candidates, placement="replace"))
    readings = [one.readings[1] for one in found]
    length = max(len(one.ids) for one in readings)
    ids = torch.tensor([[*one.ids, *[0] * (length - len(one.ids))] for one in readings])
    weights = torch.zeros(len(found), length - 1)
    for row, reading in enumerate(readings):
        weights[row, reading.slot : len(reading.ids) - 1] = 1
    own = torch.tensor([one.owner for one in found])
    sums = torch.zeros(len(candidates)).index_add(0, own, weights.sum(dim=1))
    weights /= sums[own, None]
    slots = torch.tensor([one.slot for one in readings])
    return tuple(one.to(lm.device) for one in (ids, slots, own + owners.start, weights))


def _candidate(word: str, spans: Sequence[Context], embedding: np.ndarray) -> Candidate:
    holdout = HoldOut(word, len(spans), (), (Fold((), tuple(spans)),))
    return Candidate(holdout, embedding, embedding[None], 1.0, 0)


@torch.no_grad()
def _next_logits(lm: LanguageModel, way: Way, word: str) -> torch.Tensor:
    """Logits of the token behind ``A word is a kind of``. *Shape:* (vocabulary,)"""
    start, _ = lm.tokens.special_tokens
    texts = way.prompts.get(word, "") + "A", " is a kind of"
    left, right = (lm.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts)
    subwords, embedding = lm.subwords(word), way.embeddings.get(word)
    shown = subwords if embedding is None else [subwords[-1]]
    if embedding is not None and way.placement == "append":
        shown = [*subwords, *lm.tokens.behind_a_word("/"), subwords[-1]]
    ids = torch.tensor([[*start, *left, *shown, *right]], device=lm.device)
    inputs = lm.embed(ids)
    if embedding is not None:
        slot = torch.tensor([ids.shape[1] - len(right) - 1], device=lm.device)
        inputs = lm.embed(ids, slot, torch.from_numpy(embedding)[None].to(lm.device))
    return lm.model(inputs_embeds=inputs).logits[0, -1].float().cpu()

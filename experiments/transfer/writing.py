"""Does a causal LM write taught words where they belong, and only there?

    python -m experiments.transfer writing --model CAUSAL --corpus CORPUS

The output row of a word is the copy of its embedding, or a ridge regression on the states before the word and
elsewhere: its logit shall be that of a chosen probability. Every second word chooses the settings; the others are
reported.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from torch import Tensor

from experiments.common import Results
from rarewords import Corpus, LanguageModel
from rarewords.corpus.corpus import Context
from rarewords.models import DEFAULT_MODEL
from rarewords.teaching.learners import learner_for

_TOKENS = 32  # before the word
_RIDGES, _WEIGHTS, _HERE, _ELSEWHERE = (0.01, 0.1, 1.0), (0.1, 1.0), (0.03, 0.3), (1e-5, 1e-7)


@dataclass(frozen=True)
class Readings:
    """States before words and elsewhere, the sum of what the model expects there, and log-probabilities.

    :param states: *Shape:* (positions, hidden)
    :param total: the logarithm of the sum of exponents of the logits. *Shape:* (positions,)
    :param best: the greatest logit. *Shape:* (positions,)
    :param owner: the number of the word that follows, -1 elsewhere. *Shape:* (positions,)
    :param spelled: log-probability of the word by its subwords, 0 elsewhere. *Shape:* (positions,)
    """

    states: Tensor
    total: Tensor
    best: Tensor
    owner: Tensor
    spelled: Tensor


def writing(
    model: Annotated[Path, typer.Option(help="The folder of a causal LM.")],
    corpus: Annotated[Path, typer.Option(help="A corpus with contexts of rare words.")],
    words: int = 60,
    sentences: Annotated[int, typer.Option(help="Per word to learn from; as many are held out.")] = 8,
    out: Path = Path(__file__).parent / "results" / "writing-smollm2.json",
) -> None:
    """The copied row and the regression, at the word's own places and at the others of held-out sentences."""
    lm, reader = (LanguageModel.from_pretrained(name, device="cpu") for name in (model, DEFAULT_MODEL))
    results = Results(out, "transfer writing", lm, corpus=corpus, words=words, sentences=sentences)
    found = dict(_split_words(lm, Corpus.open(corpus), words, 2 * sentences))
    learner, _ = learner_for(lm, reader, None)
    train = {word: own[:sentences] for word, own in found.items()}
    learned = learner.learn_each([(word, [one.sentence for one in own]) for word, own in train.items()])
    known = [word for word, one in zip(found, learned, strict=True) if one]
    copies = torch.from_numpy(np.stack([one.embedding for one in learned if one]))
    first = read(lm, [train[word] for word in known], known)
    second = read(lm, [found[word][sentences:] for word in known], known)
    choosing = torch.arange(len(known)) % 2 == 0

    def add(way: str, made: Tensor | None, **about: float) -> None:
        results.add(way=way, words=int((~choosing).sum()), **rates(second, made, ~choosing), **about)

    add("subwords", None)
    add("copy", copies)
    settings = list(product(_RIDGES, _WEIGHTS, _HERE, _ELSEWHERE))
    tried = [regressed(first, len(known), *one) for one in settings]
    scores = [rates(second, one, choosing) for one in tried]
    # What is gained at the word's places, less what the other places lose, each place counted once.
    best = int(np.argmax([one["gain"] - one["loss_elsewhere"] * one["others_per_place"] for one in scores]))
    names = ("ridge", "weight", "here", "elsewhere")
    add("regression", tried[best], **dict(zip(names, settings[best], strict=True)))
    results.show("way", "words", "top1", "log_p", "gain", "top1_elsewhere", "mass_elsewhere", "loss_elsewhere")


def _split_words(lm: LanguageModel, corpus: Corpus, number: int, least: int) -> Iterator[tuple[str, list[Context]]]:
    """Words that the model splits, with enough sentences that do not begin with them."""
    names, _ = corpus.counts(least)
    drawn = [str(name) for name in np.random.default_rng(0).permutation(sorted(names)) if str(name).isalpha()]
    for word, contexts in corpus.contexts_of([one for one in drawn if len(lm.subwords(one)) > 1][: 4 * number]):
        own = [one for one in contexts if one.start > 20]
        if len(own) >= least and number:
            number -= 1
            yield word, own[:least]


@torch.no_grad()
def read(lm: LanguageModel, contexts: Sequence[Sequence[Context]], words: Sequence[str]) -> Readings:
    """Read sentences up to the word and the word itself."""
    found = []
    for number, own in enumerate(contexts):
        subwords = lm.subwords(words[number])
        for one in own:
            before = lm.tokenizer(one.sentence[: one.start].rstrip(), add_special_tokens=False)["input_ids"][-_TOKENS:]
            ids = torch.tensor([[*before, *subwords]])
            done = lm.model(input_ids=ids, output_hidden_states=True)
            states, logits = done.hidden_states[-1][0], done.logits[0].float()
            place, total = len(before) - 1, logits.logsumexp(dim=1)
            behind = torch.arange(place, place + len(subwords))
            owner, spelled = torch.full((place + 1,), -1), torch.zeros(place + 1)
            owner[place], spelled[place] = number, (logits[behind, list(subwords)] - total[behind]).sum()
            kept = slice(0, place + 1)
            found.append((states[kept], total[kept], logits[kept].amax(dim=1), owner, spelled))
    return Readings(*(torch.cat(parts) for parts in zip(*found, strict=True)))


def regressed(readings: Readings, words: int, ridge: float, weight: float, here: float, elsewhere: float) -> Tensor:
    """Output rows in closed form. *Shape:* (words, hidden)

    :param ridge: in units of the states' mean square.
    :param weight: of all places of a word together, in units of all other places together.
    :param here: the probability wanted at the word's places; ``elsewhere`` at the others.
    """
    states, others = readings.states.double(), readings.owner < 0
    wanted = readings.total.double() + np.log(elsewhere)
    common = states[others].T @ states[others] / others.sum()
    right = states[others].T @ wanted[others] / others.sum()
    common += ridge * common.diagonal().mean() * torch.eye(len(common))
    made = []
    for word in range(words):
        own = readings.owner == word
        target = readings.total[own].double() + np.log(here)
        scale = weight / own.sum()
        made.append(
            torch.linalg.solve(common + scale * states[own].T @ states[own], right + scale * states[own].T @ target)
        )
    return torch.stack(made).float()


def rates(readings: Readings, made: Tensor | None, among: Tensor) -> dict[str, float]:
    """How often the words of one half come first, and the probability they get, where they belong and elsewhere."""
    here = (readings.owner >= 0) & among[readings.owner.clamp(min=0)]
    other = readings.owner < 0
    if made is None:
        return {"log_p": float(readings.spelled[here].mean())}
    numbers = torch.nonzero(among)[:, 0]
    logits = readings.states @ made[numbers].T
    total = torch.logaddexp(readings.total, logits.logsumexp(dim=1))
    own = logits[here, torch.searchsorted(numbers, readings.owner[here])]
    log_p = own - total[here]
    mass = (logits[other].logsumexp(dim=1) - total[other]).exp()
    return {
        "top1": float((own >= torch.maximum(readings.best[here], logits[here].amax(dim=1))).float().mean()),
        "log_p": float(log_p.mean()),
        "gain": float((log_p - readings.spelled[here]).mean()),
        "top1_elsewhere": float((logits[other].amax(dim=1) > readings.best[other]).float().mean()),
        "mass_elsewhere": float(mass.mean()),
        "loss_elsewhere": float((total - readings.total)[other].mean()),
        "others_per_place": float(other.sum() / here.sum() * among.float().mean()),
    }

"""BERTRAM-ADD with a frozen language model (Schick and Schütze, ACL 2020), trained as attentive mimicking is.

The language model reads each context with the mask in the word's place; a linear layer turns its state there into
an embedding, and the contexts are weighted as in attentive mimicking. Three stages:

    context   linear layer and attention learn from the states at the mask
    form      n-gram embeddings learn alone
    fused     the form embedding and a colon stand before each context; linear layer and attention learn on

The language model does not change, so its states are computed once for all seeds in the first stage, and once for each
in the last. What the form embeddings say of a word without contexts is its embedding.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.mimicking.study import Setting, Study
from experiments.paper.experiment import tf32
from rarewords import AttentiveMimicking, LanguageModel, WordEmbeddings
from rarewords._internal.engine import batches_by_length
from rarewords.corpus.columns import offsets
from rarewords.learner.masked import MaskedContexts, contexts_of_words
from rarewords.mimic.train import copies_of

LENGTH = 64  # tokens of a context
FORM = Setting("bertram-form", preset="am", changes={"context": False, "ngram_dropout": 0.1})
EPOCHS = {"context": 5, "form": 20, "fused": 3}  # as in their paper
_RATE, _BATCH = 1e-3, 64
_TOKENS_AT_ONCE = 131_072


class Reading(nn.Module):
    """States at the mask to embeddings: a linear layer, and attention over the contexts of a word."""

    def __init__(self, hidden: int, dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(hidden, dim)
        self.compare = nn.Parameter(nn.init.xavier_uniform_(torch.empty(hidden, hidden)))

    def forward(self, states: Tensor, present: Tensor) -> Tensor:
        """*Shapes:* (words, contexts, hidden), (words, contexts) -> (words, dim)"""
        states = states * present[..., None]
        summed = states.sum(1)
        compared = summed @ (self.compare.T @ self.compare)
        total = (summed * compared).sum(-1, keepdim=True).clamp_min(torch.finfo(states.dtype).tiny)
        weights = (states * compared[:, None]).sum(-1) / total
        made: Tensor = self.linear((weights[..., None] * states).sum(1))
        return made


@dataclass(frozen=True)
class States:
    """The states at the mask of all contexts, those of a word together.

    :param states: *Shape:* (contexts, hidden)
    :param starts: *Shape:* (words + 1,)
    """

    states: Tensor
    starts: np.ndarray

    def batch(self, words: np.ndarray, rng: np.random.Generator | None) -> tuple[Tensor, Tensor]:
        """The contexts of words, or with a generator a random number of them, and which of them there are.

        *Shapes:* (words, contexts, hidden), (words, contexts)
        """
        counts = np.diff(self.starts)[words]
        places = self.starts[words][:, None] + np.arange(counts.max())
        present = np.arange(counts.max()) < counts[:, None]
        if rng is not None:
            order = np.argsort(np.where(present, rng.random(places.shape), 2.0), axis=1)
            places = np.take_along_axis(places, order, axis=1)
            present &= np.arange(counts.max()) < rng.integers(1, counts + 1)[:, None]
        numbers = torch.from_numpy(np.where(present, places, 0)).to(self.states.device)
        return self.states[numbers].float(), torch.from_numpy(present).to(self.states.device)


def make_contexts(study: Study) -> None:
    """The contexts of words to learn from and of keywords as token ids."""
    learned = [word for own in study.words.values() for word in own]
    named = zip(("learned", "keywords"), (learned, study.keywords), study.size.contexts, strict=True)
    for name, words, many in named:
        masked = contexts_of_words(study.lm.tokens, study.corpus, words, contexts=many, length=LENGTH)
        study.keep(f"bertram-{name}", masked)


def make_states(study: Study) -> None:
    """The states at the masks without a form, which all seeds begin with."""
    for name in ("learned", "keywords"):
        states = read(study.lm, study.kept(f"bertram-{name}"))
        study.keep(f"bertram-{name}-states", (states.states.cpu().numpy(), states.starts))


def _kept_states(study: Study, name: str) -> States:
    states, starts = study.kept(f"bertram-{name}-states")
    return States(torch.from_numpy(states).to(study.lm.device), starts)


def train_form(study: Study, seed: int) -> None:
    """The n-gram embeddings, which learn alone: what they say of all words."""
    words = [word for name in ("learned", "keywords") for word in study.kept(f"bertram-{name}").words]
    settings = FORM.settings(_epochs(study)["form"], seed)
    with tf32():
        form = AttentiveMimicking.fit(
            study.lm, study.training_corpus, study.targets(), settings, prepared=study.contexts
        )
    forms = form.learn_words(words, study.contexts).embeddings
    forms.settings["loss"] = form.history[-1].loss
    forms.save(study.work / f"bertram-form-{seed}.safetensors")


def train(study: Study, seed: int) -> None:
    """The other stages; writes the ranks of WNLaMPro with the embeddings of each."""
    lm, targets, settings = study.lm, study.targets(), FORM.settings(1, seed)
    learned, keywords = study.kept("bertram-learned"), study.kept("bertram-keywords")
    counts = dict(zip(*study.training_corpus.counts(), strict=True))
    chosen = np.array([row for row, word in enumerate(learned.words) if word in counts and learned.counts[row]])
    words = [learned.words[row] for row in chosen]
    true = torch.from_numpy(np.array([study.target(word, targets) for word in words])).to(lm.device)
    copies = copies_of(np.array([counts[word] for word in words]), settings)
    epochs = _epochs(study)

    def fit(states: States, stage: str) -> float:
        return _fit(
            model, states, np.repeat(chosen, copies), np.repeat(np.arange(len(true)), copies), true, epochs[stage], seed
        )

    torch.manual_seed(seed)
    model = Reading(lm.hidden, lm.dim).to(lm.device)
    losses = {"context": fit(_kept_states(study, "learned"), "context")}
    stages = {"context": _embeddings(model, _kept_states(study, "keywords"), keywords.words)}
    forms = study.targets(f"bertram-form-{seed}")
    losses["form"] = forms.settings["loss"]
    stages["form"] = forms.subset(word for word in keywords.words if word in forms)
    losses["fused"] = fit(read(lm, learned, forms), "fused")
    clock = time.perf_counter()
    made = _embeddings(model, read(lm, keywords, forms), keywords.words)
    seconds = (time.perf_counter() - clock) / len(keywords.words)
    stages["fused"] = made.merge(stages["form"].subset(word for word in stages["form"].words if word not in made))
    stages["fused"].save(study.work / f"bertram-{seed}.safetensors")
    rows: list[dict[str, Any]] = []
    for name, found in stages.items():
        for placement in ("replace", "append") if name == "fused" else ("replace",):
            rows.append({"stage": name, "placement": placement, "dev": study.ranks("dev", found, placement)})
    rows[-1]["seconds"] = seconds
    study.write(f"bertram-{seed}", {"name": "bertram", "seed": seed, "losses": losses, "rows": rows})


def _epochs(study: Study) -> dict[str, int]:
    return EPOCHS if study.size.words is None else dict.fromkeys(EPOCHS, 1)


@torch.no_grad()
def read(lm: LanguageModel, contexts: MaskedContexts, forms: WordEmbeddings | None = None) -> States:
    """The last hidden states at the masks; a form stands with a colon before the contexts of its word."""
    before = len(lm.tokens.special_tokens[0])
    matrix = torch.zeros(len(contexts.words), lm.dim)
    if forms is not None:
        for row, word in enumerate(contexts.words):
            if word in forms:
                matrix[row] = torch.from_numpy(forms[word])
    matrix, owner = matrix.to(lm.device), torch.from_numpy(contexts.owner).to(lm.device)
    result = torch.zeros(len(contexts.rows), lm.hidden, dtype=torch.float16, device=lm.device)
    prefix = torch.tensor([0, *lm.subwords(":")] if forms is not None else [], dtype=torch.long)
    blank = torch.from_numpy(contexts.blank).to(lm.device) + len(prefix)
    with torch.autocast(lm.device.type, torch.bfloat16, enabled=lm.device.type == "cuda"):
        for batch in batches_by_length([len(row) for row in contexts.rows], _TOKENS_AT_ONCE):
            ids = torch.from_numpy(np.stack([contexts.rows[number] for number in batch]).astype(np.int64))
            ids = torch.cat([ids[:, :before], prefix.expand(len(ids), -1), ids[:, before:]], dim=1).to(lm.device)
            rows = torch.tensor(batch, device=lm.device)
            slots = torch.full((len(ids),), before if forms is not None else -1, device=lm.device)
            states = lm.last_hidden_state(lm.embed(ids, slots, matrix[owner[rows]]))
            result[rows] = states[torch.arange(len(rows), device=lm.device), blank[rows]].half()
    return States(result, offsets(contexts.counts))


def _fit(
    model: Reading, states: States, words: np.ndarray, places: np.ndarray, true: Tensor, epochs: int, seed: int
) -> float:
    """Train on the instances of all words; the mean loss of the last epoch.

    :param words: the word of each instance among those of the states; ``places``: among those of ``true``.
    """
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=_RATE)
    for _ in range(epochs):
        total, order = torch.zeros(()), rng.permutation(len(words))
        for first in range(0, len(order), _BATCH):
            part = order[first : first + _BATCH]
            made = model(*states.batch(words[part], rng))
            loss = nn.functional.mse_loss(made, true[torch.from_numpy(places[part]).to(true.device)])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = total.to(loss.device) + loss.detach() * len(part)
    return float(total) / len(words)


@torch.no_grad()
def _embeddings(model: Reading, states: States, words: Sequence[str]) -> WordEmbeddings:
    """The embeddings of all words with contexts, from all of these."""
    rows = np.flatnonzero(np.diff(states.starts) > 0)
    parts = [rows[at : at + 1024] for at in range(0, len(rows), 1024)]
    matrix = torch.cat([model(*states.batch(part, None)).cpu() for part in parts]).numpy()
    return WordEmbeddings([words[row] for row in rows.tolist()], matrix)

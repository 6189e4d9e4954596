"""What a word costs and what it is worth: quality over the tokens that the model reads, a row for each setting.

    python -m experiments.teach.curve --corpus CORPUS [--model MODEL]

Keywords of WNLaMPro dev are learned from 4 to 32 contexts of 32 or 64 tokens, masked, shown or both, and the model is
asked about them. No word is skipped.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer

from experiments.common import Results, with_interval
from experiments.teach.__main__ import keywords
from rarewords import Corpus, LanguageModel, TeachSettings, WordEmbeddings, wnlampro
from rarewords.learner.expected import pool, read
from rarewords.learner.masked import contexts_of_sentences
from rarewords.models import DEFAULT_MODEL
from rarewords.teaching.holdout import hold_out
from rarewords.teaching.learners import open_learner
from rarewords.tokens import Placement
from rarewords.wnlampro.dataset import Dataset
from rarewords.wnlampro.probing import EvalSettings

RESULTS = Path(__file__).parent / "results"
CONTEXTS, LENGTHS, READINGS = (32, 16, 12, 8, 4), (64, 32), ("both", "shown", "masked")
_MOST = CONTEXTS[0]

app = typer.Typer(add_completion=False, help=__doc__)
CorpusOption = Annotated[Path, typer.Option(help="A corpus made by `rarewords corpus build`.")]


@app.command()
def reading(
    corpus: CorpusOption,
    model: str = DEFAULT_MODEL,
    number: Annotated[int, typer.Option(help="How many words.")] = 200,
    min_count: int = 10,
    placement: Placement = "append",
) -> None:
    """Contexts, their length, and how they are read."""
    lm, opened = LanguageModel.from_pretrained(model), Corpus.open(corpus)
    results = Results(None, "teach curve reading", lm, corpus=opened.key, placement=placement)
    results.out = RESULTS / f"curve-reading-{placement}-{results.model}.json"
    learner, _ = open_learner(lm, None, opened)
    entries = [entry for entry in wnlampro.load().select(subset="dev") if entry.relation != "corruption"]
    words = keywords(lm, opened, entries, min_count, number)
    data = Dataset(tuple(entry for entry in entries if entry.word.text in set(words)))
    holdouts = hold_out(opened, {word: opened.count(word) for word in words}, TeachSettings(contexts=_MOST))
    pairs = [(one.word, sentence) for one in holdouts for sentence in one.contexts]
    found, costs = {}, {}
    for length in LENGTHS:
        masked = contexts_of_sentences(lm.tokens, pairs, length=length)
        shown = [len(lm.subwords(word)) + len(lm.subwords("/")) for word, _ in pairs]
        for name in ("masked", "shown"):
            found[name, length] = read(lm, learner.known, masked, name).float()
            costs[name, length] = np.array([len(row) for row in masked.rows]) + (name == "shown") * np.array(shown)
    starts = np.cumsum([0, *(len(one.contexts) for one in holdouts)])
    old = wnlampro.evaluate(lm, data).reciprocal
    results.add(contexts=0, length=0, reading="subwords", tokens=0, mrr=old.mean())
    first = None
    for contexts in CONTEXTS:
        rows = [np.arange(a, min(b, a + contexts)) for a, b in pairwise(starts)]
        counts, chosen = np.array([len(own) for own in rows]), np.concatenate(rows)
        for length in LENGTHS:
            for way in READINGS:
                ways = ("masked", "shown") if way == "both" else (way,)
                readings = torch.stack([found[one, length] for one in ways]).mean(0)[torch.from_numpy(chosen)]
                pooled = pool(readings, counts, learner.known.mean)
                made, _ = learner.embeddings(words, pooled, counts)
                embeddings = WordEmbeddings(words, made.cpu().numpy())
                how = EvalSettings(method="embeddings", placement=placement)
                new = wnlampro.evaluate(lm, data, how, embeddings=embeddings).reciprocal
                first = new if first is None else first
                tokens = sum(costs[one, length][chosen].sum() for one in ways) / len(words)
                about = {"contexts": contexts, "length": length, "reading": way}
                results.add(**about, tokens=float(tokens), mrr=new.mean(), **with_interval(new - first))
    results.show()


@contextmanager
def counted_tokens(lm: LanguageModel) -> Iterator[list[int]]:
    """The number of tokens of each forward pass of the model and of its copies."""
    tokens: list[int] = []

    def count(module: Any, given: Any, named: dict[str, Any]) -> None:  # noqa: ARG001
        tokens.append(int(np.prod(named["inputs_embeds"].shape[:2])))

    hook = lm.model.base_model.register_forward_pre_hook(count, with_kwargs=True)
    yield tokens
    hook.remove()


if __name__ == "__main__":
    app()

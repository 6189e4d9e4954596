"""Does the check of an encoder decide what retrieval would, and does it stay with what it decided?

    python -m experiments.check.names flips --model ENCODER --data SCIFACT
    python -m experiments.check.names retrieval --model ENCODER --data SCIFACT

Nouns of SciFact's claims get names that no model has met. ENCODER is a sentence-transformers folder.

``flips``: each name is learned and checked with 1, 2, 4, 8 and 16 sentences. How often is a name that was
taught skipped with more sentences?

``retrieval``: names listed with 1, 2, 4, 8 or 16 sentences each are taught by default, and all of them. Two
tasks: the noun finds a sentence that has the name in its place, among 1,000 sentences, and the name finds the
noun's definition in WordNet, among 1,000 definitions. And 150 of SciFact's claims without a name, which should
find what they found before among 300 documents.
"""

import random
import re
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer

from experiments.collection import Collection, read_scifact
from experiments.common import Results, with_interval
from rarewords import LanguageModel, TeachSettings, teach
from rarewords._internal.cache import Cache
from rarewords.corpus.corpus import Context
from rarewords.models import DEFAULT_MODEL
from rarewords.teaching.candidates import check_for, learn_and_check
from rarewords.teaching.holdout import hold_out_contexts
from rarewords.teaching.learners import learner_for
from rarewords.wnlampro.builder import open_wordnet

RESULTS = Path(__file__).parent / "results"
SENTENCES = (1, 2, 4, 8, 16)
_AMONG = 1000  # sentences and definitions
_CLAIMS, _DOCUMENTS = 150, 300
_SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-Z])")

app = typer.Typer(add_completion=False, help=__doc__)
ModelOption = Annotated[Path, typer.Option(help="The folder of the encoder.")]
DataOption = Annotated[Path, typer.Option(help="The folder of SciFact.")]
SeedOption = Annotated[int, typer.Option(help="Draws the sentences.")]


@app.command()
def flips(model: ModelOption, data: DataOption, names: int = 100, seed: SeedOption = 0) -> None:
    """The verdicts of names with more and more sentences."""
    lm, reader = LanguageModel.from_pretrained(model), LanguageModel.from_pretrained(DEFAULT_MODEL)
    settings = TeachSettings()
    results = Results(None, "check flips", lm, names=names, seed=seed, teach=settings)
    results.out = RESULTS / f"flips-{results.model}.json"
    drawn = drawn_sentences(read_scifact(data, "train"), lm, names, seed)
    learner, _ = learner_for(lm, reader, None)
    check = check_for(lm, reader, "replace", found=False)
    allowed: list[list[bool]] = []
    for most in SENTENCES:
        holdouts = [
            hold_out_contexts(name, most, [context_of(name, one) for one in own[:most]], settings)
            for name, (_, own) in drawn.items()
        ]
        with TemporaryDirectory() as folder:
            reports, _ = learn_and_check(learner, check, holdouts, Cache(Path(folder)))
        allowed.append([one.verdict != "worse" for one in reports])
        skipped_later = np.array(allowed[:-1]).any(0) & ~np.array(allowed[-1]) if allowed[1:] else np.zeros(0)
        verdicts = [one.verdict for one in reports]
        counts = {name: verdicts.count(name) for name in ("not checked", "better", "unclear", "worse")}
        results.add(sentences=most, names=len(reports), **counts, taught_before=int(skipped_later.sum()))
    table = np.array(allowed)
    once = table[:-1].any(0)
    later = np.array([(own[:-1] & ~own[1:]).any() for own in table.T])
    results.add(sentences="all", names=int(once.sum()), taught_before=int(later.sum()), **with_interval(later[once]))
    results.show()


@app.command()
def retrieval(model: ModelOption, data: DataOption, names: int = 200, seed: SeedOption = 0) -> None:
    """What is found of names that are not taught, taught by default, and all taught."""
    lm, scifact = LanguageModel.from_pretrained(model), read_scifact(data, "train")
    results = Results(None, "check retrieval", lm, names=names, seed=seed)
    results.out = RESULTS / f"retrieval-{results.model}.json"
    drawn = drawn_sentences(scifact, lm, names, seed)
    lines = [line for at, (_, own) in enumerate(drawn.values()) for line in own[: SENTENCES[at % len(SENTENCES)]]]
    nouns = {name: noun for name, (noun, _) in drawn.items()}
    encoders: dict[str, Any] = {}
    for title, keep_all in (("by default", False), ("all", True)):
        done = teach(lm, texts=lines, words=list(drawn), settings=TeachSettings(keep_all=keep_all))
        encoders[title] = done.model
        results.add(task="names", taught=title, queries=len(done.taught))
    from sentence_transformers import SentenceTransformer

    encoders = {"none": SentenceTransformer(str(model)), **encoders}
    for task, ranks in (
        ("noun to sentence", sentence_ranks(encoders, drawn, scifact)),
        ("name to definition", definition_ranks(encoders, nouns)),
    ):
        report(results, task, {title: 1 / own for title, own in ranks.items()}, "all")
    claims = claims_without(scifact, {noun: name for name, noun in nouns.items()})
    ndcg, texts = {}, list(claims.documents.values())
    touched = [row for row, text in enumerate(texts) if any(name in text for name in nouns)]
    first = embedded(encoders["none"], texts)
    for title, one in encoders.items():
        documents = first.copy()
        documents[touched] = embedded(one, [texts[row] for row in touched])
        ndcg[title] = claims.ndcg(embedded(one, claims.queries.values()) @ documents.T)
    report(results, "claims without a name, nDCG@10", ndcg, "none")
    results.show()


def report(results: Results, task: str, scores: dict[str, np.ndarray], against: str) -> None:
    """A row for each way to teach; the change is that against one of them."""
    for title, own in scores.items():
        change = with_interval(own - scores[against]) if title != against else {}
        results.add(task=task, taught=title, queries=len(own), mean=own.mean(), against=against, **change)


def drawn_sentences(scifact: Collection, lm: LanguageModel, names: int, seed: int) -> dict[str, tuple[str, list[str]]]:
    """For each name its noun and 17 sentences with the name in place of the noun, in a random order."""
    new = scifact.new_names(3 * names, lm.whole_words)
    found: dict[str, set[str]] = defaultdict(set)
    for text in scifact.documents.values():
        for sentence in _SENTENCE.split(text):
            for word in set(re.findall(r"[^\W\d_]+", sentence)) & new.keys():
                found[word].add(re.sub(rf"\b{word}\b", new[word], sentence))
    rng, drawn = random.Random(seed), {}
    for noun, name in new.items():
        own = sorted(found[noun])
        if len(own) > SENTENCES[-1]:
            drawn[name] = noun, rng.sample(own, SENTENCES[-1] + 1)
    return dict(list(drawn.items())[:names])


def claims_without(scifact: Collection, new: dict[str, str]) -> Collection:
    """Claims without a name, and documents with them; the relevant ones are among these."""
    renamed = scifact.renamed(new)
    plain = [key for key, text in scifact.queries.items() if renamed.queries[key] == text][:_CLAIMS]
    relevant = {key: renamed.relevant[key] for key in plain}
    return replace(renamed.with_queries(plain), relevant=relevant).with_documents(_DOCUMENTS)


def context_of(name: str, sentence: str) -> Context:
    """The sentence with the place of the name."""
    start = sentence.index(name)
    return Context(sentence, start, start + len(name))


def sentence_ranks(
    encoders: dict[str, Any], drawn: dict[str, tuple[str, list[str]]], scifact: Collection
) -> dict[str, np.ndarray]:
    """The rank of a sentence with the name, asked for by the noun; no name was learned from it."""
    texts = [own[-1] for _, own in drawn.values()]
    others = sorted(one for text in scifact.documents.values() for one in _SENTENCE.split(text)[1:3])
    texts += random.Random(0).sample(others, _AMONG - len(texts))
    return own_ranks(encoders, [noun for noun, _ in drawn.values()], texts)


def definition_ranks(encoders: dict[str, Any], nouns: dict[str, str]) -> dict[str, np.ndarray]:
    """The rank of the noun's definition, asked for by the name."""
    wordnet = open_wordnet()
    texts = [wordnet.synsets(noun, "n")[0].definition() for noun in nouns.values()]
    others = sorted({one.definition() for one in wordnet.all_synsets("n")} - set(texts))
    texts += random.Random(0).sample(others, _AMONG - len(texts))
    return own_ranks(encoders, list(nouns), texts)


def own_ranks(encoders: dict[str, Any], queries: list[str], texts: list[str]) -> dict[str, np.ndarray]:
    """The rank of each query's own text, which has its number."""
    ranks = {}
    for title, one in encoders.items():
        scores = embedded(one, queries) @ embedded(one, texts).T
        ranks[title] = 1 + (scores > np.diag(scores)[:, None]).sum(1)
    return ranks


def embedded(encoder: Any, texts: Any) -> np.ndarray:
    """Embeddings of unit length. *Shape:* (texts, dim)"""
    found: np.ndarray = encoder.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
    return found


if __name__ == "__main__":
    app()

"""Embeddings that a masked LM makes for encoders and causal LMs.

    python -m experiments.transfer invented --model ENCODER
    python -m experiments.transfer renamed  --model ENCODER --data SCIFACT
    python -m experiments.transfer searched --model ENCODER --data SCIFACT
    python -m experiments.transfer causal   --model CAUSAL [--peers]
    python -m experiments.transfer following --model CAUSAL --train FILE ... --test FILE ...
    python -m experiments.transfer writing --model CAUSAL --corpus CORPUS

ENCODER is a sentence-transformers folder, CAUSAL the folder of a causal LM, SCIFACT a folder with its files.
"""

import hashlib
import json
import random
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer

from experiments.collection import Collection, read_scifact
from experiments.common import Results, invented_kinds, invented_sentences, ranks_of, with_interval
from experiments.transfer.causal import (
    Way,
    distilled,
    iob_sentences,
    kind_ranks,
    losses_behind_words,
    trained,
    untrained_ways,
)
from experiments.transfer.distillation import RATES
from experiments.transfer.writing import writing
from rarewords import Corpus, LanguageModel, TeachResult, TeachSettings, affected, teach
from rarewords.models import DEFAULT_MODEL
from rarewords.teaching.words import count_words, missing_words, without_clutter
from rarewords.tokens import Placement

RESULTS = Path(__file__).parent / "results"
_COMPARED = 2000  # words among which the right kind is looked for
_RATES = (0.001, 0.005, 0.02)  # of Adam, in units of the embeddings' mean distance from their mean
_PATIENT = 10_000  # documents

app = typer.Typer(add_completion=False, help=__doc__)
ModelOption = Annotated[Path, typer.Option(help="The folder of the model that is taught.")]
ReaderOption = Annotated[str, typer.Option(help="The masked LM that reads.")]
PlacementOption = Annotated[Placement, typer.Option(help="append or replace.")]
DataOption = Annotated[Path, typer.Option(help="The folder of SciFact.")]
PartOption = Annotated[str, typer.Option(help="train or test.")]
DocumentsOption = Annotated[int, typer.Option(help="At most N documents, the relevant ones among them.")]
WorkOption = Annotated[Path, typer.Option(help="A folder for taught models and document embeddings.")]
OutOption = Annotated[Path | None, typer.Option(help="By default results/COMMAND-MODEL.json.")]
_WORK = Path("build/transfer")
app.command()(writing)


@app.command()
def invented(
    model: ModelOption,
    reader: ReaderOption = DEFAULT_MODEL,
    placement: PlacementOption = "append",
    words: int = 30,
    out: OutOption = None,
) -> None:
    """The right kind of each invented word among 2,000 words, by the cosine of the word and the kind alone."""
    kinds = dict(list(invented_kinds().items())[:words])
    lm, settings = LanguageModel.from_pretrained(model), TeachSettings(placement=placement)
    results = _results("invented", lm, out, reader=reader, teach=settings)
    sentences = [line for word in kinds for line in invented_sentences()[word]]
    done = teach(lm, texts=sentences, words=list(kinds), reader_model=reader, settings=settings)
    among = compared_words(lm, kinds)
    ranks = []
    for encoder in (_encoder(model), done.model):
        texts = encoder.encode(among, normalize_embeddings=True)
        scores = encoder.encode(list(kinds), normalize_embeddings=True) @ texts.T
        ranks.append(ranks_of(scores, among, kinds))
    before, after = (1 / rank for rank in ranks)
    means = {"mrr_before": before.mean(), "mrr_after": after.mean()}
    results.add(words=len(kinds), taught=len(done.taught), **means, **with_interval(after - before))
    results.show()


@app.command()
def renamed(
    model: ModelOption,
    data: DataOption,
    part: PartOption = "test",
    names: Annotated[int, typer.Option(help="How many nouns are renamed.")] = 200,
    documents: DocumentsOption = _PATIENT,
    reader: ReaderOption = DEFAULT_MODEL,
    placement: PlacementOption = "append",
    work: WorkOption = _WORK,
    out: OutOption = None,
) -> None:
    """SciFact with nouns of its queries renamed to names that nobody knows; the names are listed."""
    lm, whole = LanguageModel.from_pretrained(model), read_scifact(data, part, documents)
    new = whole.new_names(names, lm.whole_words)
    settings = TeachSettings(placement=placement)
    about: dict[str, Any] = {"names": len(new), "documents": len(whole.documents), "part": part}
    results = _results("renamed", lm, out, reader=reader, teach=settings, **about)
    original = whole.ndcg(_scores(*_embedded(_encoder(model), whole, work)))
    results.add(texts="before renaming", queries=len(original), ndcg=original.mean())
    text = whole.renamed(new)
    done = teach(lm, texts=_sentences(text), words=new.values(), reader_model=reader, settings=settings)
    compare(results, model, text, done, work, original)
    results.show()


@app.command()
def searched(
    model: ModelOption,
    data: DataOption,
    part: PartOption = "test",
    words: int = 1000,
    documents: DocumentsOption = _PATIENT,
    reader: ReaderOption = DEFAULT_MODEL,
    placement: PlacementOption = "append",
    work: WorkOption = _WORK,
    out: OutOption = None,
) -> None:
    """SciFact with a list of all words that a search finds, which `teach` does not do for encoders."""
    lm, text = LanguageModel.from_pretrained(model), read_scifact(data, part, documents)
    settings = TeachSettings(placement=placement)
    results = _results("searched", lm, out, reader=reader, teach=settings, words=words, part=part)
    work.mkdir(parents=True, exist_ok=True)
    path = text.write(work / f"scifact-{part}.jsonl")
    corpus_path = work / f"scifact-{part}-{len(text.documents)}.corpus"
    corpus = Corpus.open(corpus_path) if corpus_path.exists() else Corpus.build(path, corpus_path)
    found = found_words(corpus, lm, words)
    done = teach(lm, texts=_sentences(text), words=found, reader_model=reader, settings=settings)
    compare(results, model, text, done, work)
    results.show()


@app.command()
def causal(
    model: ModelOption,
    reader: ReaderOption = DEFAULT_MODEL,
    peers: Annotated[bool, typer.Option(help="Also a trained row and token distillation.")] = False,
    steps: Annotated[int, typer.Option(help="Of the peers.")] = 100,
    words: int = 30,
    out: OutOption = None,
) -> None:
    """The right kind of each invented word behind *A … is a kind of*, by every way to make an embedding.

    Every second word chooses the rate of a peer; the figure that counts is that of the others.
    """
    lm, masked = LanguageModel.from_pretrained(model), LanguageModel.from_pretrained(reader)
    kinds = dict(list(invented_kinds().items())[:words])
    sentences = {word: own for word, own in invented_sentences().items() if word in kinds}
    results = _results("causal", lm, out, reader=reader, steps=steps, words=words)
    among = compared_words(lm, kinds)
    ways = untrained_ways(lm, masked, sentences)

    def reciprocal(way: Way, asked: LanguageModel) -> np.ndarray:
        return 1 / kind_ranks(asked, way, kinds, among)

    subwords = reciprocal(ways[0], lm)

    def add(way: Way, found: np.ndarray, **about: Any) -> None:
        halves = {"choose": found[::2].mean(), "other_half": found[1::2].mean()}
        prompts = [len(one.ids) for one in lm.tokens.encode([way.prompts.get(word, "") for word in kinds])]
        seconds = {"seconds_per_word": way.seconds, "prompt_tokens": float(np.mean(prompts))}
        results.add(way=way.title, mrr=found.mean(), **halves, **seconds, **with_interval(found - subwords), **about)

    for way in ways:
        add(way, reciprocal(way, lm))
    clock = time.perf_counter()
    lines = [line for own in sentences.values() for line in own]
    done = teach(lm, texts=lines, words=list(kinds), reader_model=reader)
    way = Way("taught", seconds=(time.perf_counter() - clock) / len(kinds))
    add(way, reciprocal(way, done.language_model), taught=len(done.taught))
    for start in [way for way in ways if way.title in ("mean of the subwords", "embedding")] if peers else ():
        for make, rates in ((trained, _RATES), (distilled, RATES)):
            tried = [make(lm, start, rate, steps) for rate in rates]
            found = [reciprocal(way, lm) for way in tried]
            best = int(np.argmax([one[::2].mean() for one in found]))
            for number, rate in enumerate(rates):
                add(tried[number], found[number], rate=rate, chosen="yes" if number == best else "")
    results.show()


@app.command()
def following(
    model: ModelOption,
    train: Annotated[list[Path], typer.Option(help="Files of tagged words to teach from.")],
    test: Annotated[list[Path], typer.Option(help="Files to measure in.")],
    reader: ReaderOption = DEFAULT_MODEL,
    words: int = 1000,
    out: OutOption = None,
) -> None:
    """The loss behind taught words in sentences of other documents."""
    lm, settings = LanguageModel.from_pretrained(model), TeachSettings(top=words)
    results = _results("following", lm, out, reader=reader, teach=settings)
    done = teach(lm, texts=iob_sentences(train), reader_model=reader, settings=settings)
    before, after = losses_behind_words(lm, done, iob_sentences(test))
    means = {"loss_before": before.mean(), "loss_after": after.mean()}
    results.add(taught=len(done.taught), words=len(before), **means, **with_interval(after - before))
    results.show()


def compare(
    results: Results, model: Path, text: Collection, done: TeachResult, work: Path, original: np.ndarray | None = None
) -> None:
    """nDCG@10 before and after teaching; only documents with a taught word are embedded again."""
    folder = work / f"taught-{hashlib.sha256(json.dumps(done.as_json()).encode()).hexdigest()[:16]}"
    if not folder.exists():
        done.save_pretrained(folder)
    texts = list(text.documents.values()), list(text.queries.values())
    before = _embedded(_encoder(model), text, work)
    after, touched = [one.copy() for one in before], []
    for place, own in enumerate(texts):
        rows = np.array([row for row, _ in affected(folder, enumerate(own))], np.int64)
        if len(rows):
            after[place][rows] = encode(_encoder(folder), [own[row] for row in rows.tolist()], work)
        touched.append(rows)
    first, second = text.ndcg(_scores(*before)), text.ndcg(_scores(*after))
    others = np.setdiff1d(np.arange(len(first)), touched[1])
    for title, rows in (("all", np.arange(len(first))), ("with a taught word", touched[1]), ("others", others)):
        if len(rows):
            about = {"texts": f"taught, {title}", "queries": len(rows), "words": len(done.taught)}
            means = {"untaught": first[rows].mean(), "ndcg": second[rows].mean()}
            results.add(**about, embedded_again=len(touched[0]), **means, **with_interval((second - first)[rows]))
    if original is not None:
        share = (second - first).mean() / max(1e-9, (original - first).mean())
        results.add(texts="lost by renaming", **with_interval(first - original), recovered=share)


def found_words(corpus: Corpus, lm: LanguageModel, most: int) -> list[str]:
    """The words of a text that a search of a masked LM would look at first."""
    frequent = {word: count for word, count in count_words(corpus).items() if count >= TeachSettings.min_count}
    missing = missing_words(frequent, lm.tokens)
    found = without_clutter(corpus, missing, lm.tokens, "append", frozenset())
    return [one.word for one in found if not one.skipped][:most]


def compared_words(lm: LanguageModel, kinds: Any) -> list[str]:
    """2,000 words of a vocabulary and all kinds that it has as one subword."""
    known = sorted(word for word in lm.whole_words if len(word) > 2)
    drawn = random.Random(0).sample(known, _COMPARED)
    return sorted({*drawn, *(kind for own in kinds.values() for kind in own)} & set(lm.whole_words))


def encode(encoder: Any, texts: Sequence[str], work: Path) -> np.ndarray:
    """Embeddings of unit length, kept in the work folder by what they are made from. *Shape:* (texts, dim)"""
    weights = next(encoder.parameters()).detach().cpu().numpy().tobytes()
    key = hashlib.sha256(weights + json.dumps(list(texts)).encode()).hexdigest()[:16]
    path = work / f"embeddings-{key}.npy"
    if not path.exists():
        work.mkdir(parents=True, exist_ok=True)
        np.save(path, encoder.encode(list(texts), normalize_embeddings=True, show_progress_bar=False))
    found: np.ndarray = np.load(path)
    return found


def _embedded(encoder: Any, text: Collection, work: Path) -> list[np.ndarray]:
    return [encode(encoder, list(texts.values()), work) for texts in (text.documents, text.queries)]


def _scores(documents: np.ndarray, queries: np.ndarray) -> np.ndarray:
    """*Shapes:* (documents, dim), (queries, dim) -> (queries, documents)"""
    return queries @ documents.T


def _encoder(folder: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder))


def _sentences(text: Collection) -> Iterable[dict[str, str]]:
    return [{"text": document} for document in text.documents.values()]


def _results(command: str, lm: LanguageModel, out: Path | None, **settings: Any) -> Results:
    torch.set_float32_matmul_precision("high")
    results = Results(out, f"transfer {command}", lm, **settings)
    results.out = out or RESULTS / f"{command}-{results.model}.json"
    return results


if __name__ == "__main__":
    app()

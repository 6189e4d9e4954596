"""Finding documents with names that the encoder cannot know.

    python -m experiments.retrieval run --collection scifact --part dev --model ENCODER --data DATA
    python -m experiments.retrieval table [--part test]

``run`` writes results/COLLECTION-PART-ENCODER.json.
"""

import json
import re
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shutil import rmtree
from typing import Annotated, Any, cast, get_args

import numpy as np
import typer

from experiments.common import Results, with_interval
from experiments.retrieval.collections import KINDS, Part, Renamed, read
from experiments.retrieval.rankers import bm25, fine_tuned, fuse
from rarewords import LanguageModel, TeachSettings, affected, teach
from rarewords.queries import InputRow
from rarewords.teaching.ask import sentence_embeddings
from rarewords.tokens import Placement

RESULTS = Path(__file__).parent / "results"
_TOKENS = 256
_NAMES = 200  # at most
_VARIANTS: tuple[tuple[Placement, int, bool], ...] = (
    ("append", 1, False),
    ("append", 2, True),
    ("append", 3, True),
    ("replace", 2, True),
)
_PROOF = 64  # texts without a name that are embedded by a taught model as well

app = typer.Typer(add_completion=False, help=__doc__)


ModelOption = Annotated[Path, typer.Option(help="A sentence-transformers folder.")]
DataOption = Annotated[Path, typer.Option(help="A folder with `eval` and the encyclopaedia's text.")]
CollectionOption = Annotated[str, typer.Option(help="scifact, abstracts or encyclopaedia.")]
PartOption = Annotated[str, typer.Option(help="dev or test.")]
WorkOption = Annotated[Path, typer.Option(help="A folder for taught models, which are used again.")]
_WORK = Path("build/retrieval")


@app.command()
def run(
    model: ModelOption,
    data: DataOption,
    collection: CollectionOption = "scifact",
    part: PartOption = "dev",
    tune: Annotated[bool, typer.Option(help="Also fine-tune the encoder on the documents.")] = False,
    work: WorkOption = _WORK,
) -> None:
    """Every way to search one collection with one encoder."""
    study, results = _begin("", model, data, collection, part, work)
    plain = study.plain
    study.report(results, plain)
    study.report(results, study.defined(), plain)
    for source in ("text", "glossary"):
        replaced, appended = (study.taught(source, placement) for placement in get_args(Placement)[::-1])
        study.report(results, replaced, plain)
        study.report(results, appended, plain, replaced)
    if tune:
        study.report(results, study.tuned(), plain)
    results.show()


@app.command()
def variants(
    model: ModelOption,
    data: DataOption,
    collection: CollectionOption = "scifact",
    part: PartOption = "dev",
    work: WorkOption = _WORK,
) -> None:
    """What decides between the placements: the weight of the token, its subwords, or the separator?"""
    study, results = _begin("variants-", model, data, collection, part, work)
    for source in ("text", "glossary"):
        for placement, times, separator in _VARIANTS:
            study.report(results, study.variant(source, placement, times, separator), study.plain)
    results.show()


def _begin(what: str, model: Path, data: Path, collection: str, part: str, work: Path) -> "tuple[Study, Results]":
    out = RESULTS / f"{what}{collection}-{part}-{model.name}.json"
    renamed = read(collection, cast(Part, part), data, _NAMES)
    study = Study(renamed, model, work / f"{collection}-{part}-{model.name}")
    about = {"collection": collection, "part": part, "names": len(renamed.names), "tokens": _TOKENS}
    lm = LanguageModel.from_pretrained(model)
    return study, Results(out, "retrieval", lm, documents=study.number, **about)


@app.command()
def table(part: PartOption = "test") -> None:
    """nDCG@10 of each way by kind of query, for each collection and encoder, and the change by name."""
    for path in sorted(RESULTS.glob(f"[!v]*-{part}-*.json")):
        found = _read(path)
        shown = Results(None, "", None)
        for way in dict.fromkeys(row["way"] for row in found):
            own = {row["queries"]: row for row in found if row["way"] == way and "replace" not in row["against"]}
            name = own["name"]
            change = {key: name[key] for key in ("change", "interval") if key in name}
            costs = {"embedded again": name["embedded_again"], "minutes": name["minutes"]}
            shown.add(
                way=way, **{kind: own[kind]["ndcg"] for kind in KINDS}, against=name["against"], **change, **costs
            )
        numbers = ", ".join(f"{row['number']} {kind}" for kind, row in own.items())
        print(f"\n{path.stem}, queries: {numbers}\n")
        shown.show()


@app.command()
def compare(part: PartOption = "dev") -> None:
    """The mean change over the collections, for each encoder, way and kind of query, as compare-PART.json.

    Each collection weighs the same; the interval takes the errors of the collections as independent.
    """
    every = sorted(RESULTS.glob(f"[!v]*-{part}-*.json"))
    shown = Results(RESULTS / f"compare-{part}.json", "retrieval compare", None, every, part=part)
    for model in sorted({path.stem.split(f"-{part}-")[1] for path in every}):
        files = [_read(path) for path in sorted(RESULTS.glob(f"[!v]*-{part}-{model}.json"))]
        for row in files[0]:
            key = "way", "queries", "against"
            same = [one for rows in files for one in rows if all(one[name] == row[name] for name in key)]
            about = {"encoder": model, "collections": len(same), **{name: row[name] for name in key}}
            means = {"number": sum(one["number"] for one in same), "ndcg": np.mean([one["ndcg"] for one in same])}
            changes: dict[str, Any] = {}
            if "change" in row:
                change = np.mean([one["change"] for one in same])
                widths = np.array([one["interval"][1] - one["interval"][0] for one in same]) / 2
                around = float(np.sqrt((widths**2).sum()) / len(same))
                changes = {"change": change, "interval": [change - around, change + around]}
            shown.add(**about, **means, **changes)
    shown.show()


def _read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["rows"]
    return rows


@dataclass(frozen=True)
class Way:
    """A way to embed: the embeddings of all documents, then of all queries, and what they cost.

    :param untouched: the largest difference in texts without a name.
    """

    title: str
    embeddings: np.ndarray
    minutes: float
    embedded_again: float
    untouched: float | None = None


class Study:
    """One collection and one encoder."""

    def __init__(self, renamed: Renamed, model: Path, work: Path) -> None:
        self.renamed, self.model, self.work = renamed, model, work
        self.collection = renamed.collection
        self.number = len(self.collection.documents)
        self.texts = [*self.collection.documents.values(), *self.collection.queries.values()]
        self.bm25 = bm25(self.texts[self.number :], self.texts[: self.number])

    @cached_property
    def encoder(self) -> Any:
        return _encoder(self.model)

    @cached_property
    def plain(self) -> Way:
        clock = time.perf_counter()
        embeddings = embedded(self.encoder, self.texts)
        return Way("untaught", embeddings, _minutes(clock), 1.0)

    def defined(self) -> Way:
        """The definition behind each name of a query."""
        clock, embeddings = time.perf_counter(), self.plain.embeddings.copy()
        queries = self.texts[self.number :]
        names = re.compile(rf"\b({'|'.join(self.renamed.definitions)})s?\b")
        longer = [
            names.sub(lambda found: f"{found[0]} ({self.renamed.definitions[found[1]]})", text) for text in queries
        ]
        rows = [row for row, (text, own) in enumerate(zip(longer, queries, strict=True)) if text != own]
        embeddings[[self.number + row for row in rows]] = embedded(self.encoder, [longer[row] for row in rows])
        return Way("definition in the query", embeddings, _minutes(clock), 0.0)

    def tuned(self) -> Way:
        clock = time.perf_counter()
        embeddings = embedded(fine_tuned(self.encoder, self.texts[: self.number]), self.texts)
        return Way("fine-tuned", embeddings, _minutes(clock), 1.0)

    def taught(self, source: str, placement: Placement) -> Way:
        """The names taught from the documents or from their definitions; only texts that have one change."""
        rmtree(self._folder(source, placement), ignore_errors=True)  # its time counts
        clock, folder = time.perf_counter(), self._teach(source, placement)
        encoder, embeddings = _encoder(folder), self.plain.embeddings.copy()
        rows = [row for row, _ in affected(folder, enumerate(self.texts))]
        embeddings[rows] = embedded(encoder, [self.texts[row] for row in rows])
        minutes = _minutes(clock)
        others = [self.texts[row] for row in sorted(set(range(len(self.texts))) - set(rows))[-_PROOF:]]
        proof = float(np.abs(embedded(encoder, others) - embedded(self.encoder, others)).max())
        again = sum(row < self.number for row in rows) / self.number
        return Way(f"{source}, {placement}", embeddings, minutes, again, proof)

    def variant(self, source: str, placement: Placement, times: int, separator: bool) -> Way:
        """The tokens of names more than once, or without the separator between subwords and token."""
        folder = self._teach(source, placement)
        lm, plain = LanguageModel.from_pretrained(folder), LanguageModel.from_pretrained(self.model)
        embeddings, inputs = self.plain.embeddings.copy(), []
        rows = [row for row, _ in affected(folder, enumerate(self.texts))]
        for row in rows:
            ids: list[int] = []
            for token in lm.tokenizer(self.texts[row])["input_ids"]:
                new = token >= len(plain.tokenizer)
                if new and placement == "append" and not separator:
                    ids.pop()
                ids += [token] * (times if new else 1)
            inputs.append(InputRow((*ids[: _TOKENS - 1], ids[-1])))
        embeddings[rows] = sentence_embeddings(lm, inputs).numpy()
        how = "" if separator else ", no separator"
        again = sum(row < self.number for row in rows) / self.number
        return Way(f"{source}, {placement}, {times} x{how}", embeddings, 0.0, again)

    def _folder(self, source: str, placement: Placement) -> Path:
        return self.work / f"{source}-{placement}"

    def _teach(self, source: str, placement: Placement) -> Path:
        folder = self._folder(source, placement)
        if not folder.exists():
            documents, settings = self.texts[: self.number], TeachSettings(placement=placement)
            what = {"texts": documents} if source == "text" else {"glossary": self.renamed.definitions}
            names = list(self.renamed.names.values())
            done = teach(str(self.model), words=names, settings=settings, **what)  # type: ignore[arg-type]
            done.save_pretrained(folder)
        return folder

    def report(self, results: Results, way: Way, *against: Way) -> None:
        """A row for each kind of query, alone and fused with BM25, beside each other way."""
        if not against:
            self._add(results, "BM25", self.bm25, {}, 0.0, 0.0)
        for fused in (False, True):
            title, costs = _title(way, fused), (way.minutes, way.embedded_again, way.untouched)
            others = {_title(one, fused): self._scores(one, fused) for one in against}
            self._add(results, title, self._scores(way, fused), others, *costs)

    def _add(
        self,
        results: Results,
        title: str,
        scores: np.ndarray,
        others: dict[str, np.ndarray],
        minutes: float,
        again: float,
        untouched: float | None = None,
    ) -> None:
        found, beside = self.collection.ndcg(scores), {name: self.collection.ndcg(one) for name, one in others.items()}
        for kind in KINDS:
            rows = self.renamed.rows(kind)
            about = {"way": title, "queries": kind, "number": len(rows), "ndcg": found[rows].mean()}
            costs = {"minutes": minutes, "embedded_again": again, "untouched": untouched}
            for name, own in (beside or {"": found}).items():
                change = with_interval((found - own)[rows]) if name else {}
                results.add(**about, against=name, **change, **costs)

    def _scores(self, way: Way, fused: bool) -> np.ndarray:
        scores = way.embeddings[self.number :] @ way.embeddings[: self.number].T
        return fuse(scores, self.bm25) if fused else scores


def embedded(encoder: Any, texts: list[str]) -> np.ndarray:
    """Embeddings of unit length. *Shape:* (texts, dim)"""
    found: np.ndarray = encoder.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    return found


def _encoder(folder: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(str(folder))
    encoder.max_seq_length = _TOKENS
    return encoder


def _minutes(clock: float) -> float:
    return (time.perf_counter() - clock) / 60


def _title(way: Way, fused: bool) -> str:
    return f"{way.title} + BM25" if fused else way.title


if __name__ == "__main__":
    app()

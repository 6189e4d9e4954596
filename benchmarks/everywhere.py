"""Teaching sentence-embedding models and causal LMs, measured on real ones (docs/results/everywhere.md).

Needs sentence-transformers beside the package's own dependencies. SciFact is a folder with its usual files:
corpus_train.csv, claims_*.csv, qrels/train.tsv and qrels/test.tsv.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sentence_transformers import SentenceTransformer

from benchmarks.everywhere_causal import causal, following, peers
from benchmarks.measures import candidates, interval
from rarewords import LanguageModel, teach
from rarewords.forget import affected
from rarewords.models import DEFAULT_MODEL, load_tokens
from rarewords.stages import Stages
from rarewords.teaching.judge import Made
from rarewords.teaching.learners import learner_for
from rarewords.teaching.outcome import Taught
from rarewords.teaching.scan import choose_words, scan
from rarewords.teaching.settings import TeachSettings
from rarewords.teaching.splits import split_words
from rarewords.teaching.target import judge_on_target
from rarewords.teaching.teach import Task
from tests.teaching.invented import FOLDER, hypernyms

_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class SciFact:
    """Documents and queries by id, and the relevant documents of each query."""

    documents: dict[str, str]
    queries: dict[str, str]
    relevant: dict[str, set[str]]

    @classmethod
    def read(cls, folder: Path, part: str) -> SciFact:
        """All documents, and the queries of ``train`` or ``test``."""
        csv.field_size_limit(10**7)
        documents, queries = {}, {}
        for row in csv.DictReader((folder / "corpus_train.csv").open(encoding="utf-8")):
            sentences = [(a or b).replace("\\", "") for a, b in _QUOTED.findall(row["abstract"])]
            documents[row["doc_id"]] = " ".join([row["title"], *sentences])
        for name in ("train", "validation", "test"):
            for row in csv.DictReader((folder / f"claims_{name}.csv").open(encoding="utf-8")):
                queries[row["id"]] = row["claim"]
        relevant: dict[str, set[str]] = defaultdict(set)
        for row in csv.DictReader((folder / "qrels" / f"{part}.tsv").open(encoding="utf-8"), delimiter="\t"):
            if int(row["score"]):
                relevant[row["query-id"]].add(row["corpus-id"])
        return cls(documents, {name: queries[name] for name in relevant}, dict(relevant))

    def renamed(self, names: Mapping[str, str]) -> SciFact:
        """The same with words replaced everywhere, whatever their case."""

        def rename(text: str) -> str:
            return _WORD.sub(lambda found: names.get(found.group().lower(), found.group()), text)

        documents = {name: rename(text) for name, text in self.documents.items()}
        return replace(self, documents=documents, queries={k: rename(v) for k, v in self.queries.items()})

    def write(self, path: Path) -> Path:
        """The documents as JSON lines."""
        lines = [json.dumps({"id": name, "text": text}) + "\n" for name, text in self.documents.items()]
        path.write_text("".join(lines), "utf-8")
        return path

    def ndcg(self, documents: np.ndarray, queries: np.ndarray) -> np.ndarray:
        """nDCG@10 of each query. *Shapes:* (documents, dim), (queries, dim) -> (queries,)"""
        names, scores = list(self.documents), queries @ documents.T
        discounts = 1 / np.log2(np.arange(2, 12))
        found = []
        for row, query in enumerate(self.queries):
            best = np.argsort(-scores[row], kind="stable")[:10]
            gains = np.array([names[at] in self.relevant[query] for at in best.tolist()])
            found.append((gains * discounts).sum() / discounts[: len(self.relevant[query])].sum())
        return np.array(found)


def encode(model: SentenceTransformer, texts: Sequence[str], work: Path) -> np.ndarray:
    """Embeddings of unit length, kept in the work folder by what they are made from."""
    weights = next(model.parameters()).detach().cpu().numpy().tobytes()
    key = hashlib.sha256(weights + json.dumps(list(texts)).encode()).hexdigest()[:16]
    path = work / f"embeddings-{key}.npy"
    if not path.exists():
        np.save(path, model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False))
    return np.load(path)


def encode_again(
    before: np.ndarray, model: SentenceTransformer, folder: Path, texts: Sequence[str], work: Path
) -> tuple[np.ndarray, np.ndarray]:
    """The embeddings after teaching, computed for affected texts only, and which those are."""
    rows = np.array([row for row, _ in affected(folder, enumerate(texts))], np.int64)
    after = before.copy()
    if len(rows):
        after[rows] = encode(model, [texts[row] for row in rows.tolist()], work)
    return after, rows


def show_judged(taught: Taught) -> None:
    """What the judge found: how near the words are to those that the reader expects in their place."""
    every = [one.judgement for one in (*taught.words, *taught.worse) if one.judgement]
    least, added, error = np.mean([(one.least, one.gain, one.error) for one in every], axis=0)
    print(
        f"{len(taught.words)} words taught, {len(taught.worse)} left alone; "
        f"the vectors add {added:.4f} of {least:.4f} asked for, standard error {error:.4f}"
    )


def measure(
    asked: argparse.Namespace, data: SciFact, name: str, words: list[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Teach from the documents, print nDCG@10 before and after, and return that of each query."""
    text = data.write(asked.work / f"{name}.jsonl")
    out = asked.work / name
    if not out.exists():
        start = time.perf_counter()
        settings = TeachSettings(slash=not asked.replace)
        taught = teach([text], out, model=asked.model, words=words, settings=settings, keep_work=True)
        print(f"taught in {time.perf_counter() - start:.0f} s")
        show_judged(taught)
    old, new = SentenceTransformer(str(asked.model)), SentenceTransformer(str(out))
    documents, queries = list(data.documents.values()), list(data.queries.values())
    before = [encode(old, texts, asked.work) for texts in (documents, queries)]
    after, touched = before.copy(), []
    for place, texts in enumerate((documents, queries)):
        after[place], rows = encode_again(before[place], new, out, texts, asked.work)
        touched.append(rows)
    print(f"documents to embed again: {len(touched[0])} of {len(documents)}")
    first, second = data.ndcg(*before), data.ndcg(*after)
    for title, rows in (("all queries", np.arange(len(queries))), ("with a taught word", touched[1])):
        print(
            f"nDCG@10, {title} ({len(rows)}): {first[rows].mean():.4f} -> {second[rows].mean():.4f}, "
            f"change {interval((second - first)[rows])}"
        )
    return first, second


def read_scifact(asked: argparse.Namespace) -> SciFact:
    """SciFact, with all relevant documents and as many others as are asked for."""
    data = SciFact.read(asked.data, asked.part)
    relevant = {name for own in data.relevant.values() for name in own}
    others = sorted(set(data.documents) - relevant)
    random.Random(0).shuffle(others)
    kept = {*relevant, *others[: max(0, asked.documents - len(relevant))]}
    return replace(data, documents={name: text for name, text in data.documents.items() if name in kept})


def scifact(asked: argparse.Namespace) -> None:
    """SciFact with a list of everything that a search finds, which `teach` does not do by itself."""
    data = read_scifact(asked)
    words = found_words(data.write(asked.work / "scifact.jsonl"), asked.model, asked.words or 1000)
    measure(asked, data, f"scifact-{asked.part}-{asked.replace:d}", words)


def found_words(text: Path, model: Path, most: int) -> list[str]:
    """The words that a search would teach a masked LM first."""
    return [one.word for one in scan([text], str(model), min_count=4, top=most).missing]


def renamed(asked: argparse.Namespace) -> None:
    """SciFact with nouns of its queries renamed to invented names."""
    data = read_scifact(asked)
    names = new_names(data, asked)
    print(f"{len(names)} nouns renamed, such as {', '.join(list(names)[:5])}")
    model = SentenceTransformer(str(asked.model))
    texts = (list(data.documents.values()), list(data.queries.values()))
    whole = data.ndcg(*(encode(model, part, asked.work) for part in texts))
    print(f"nDCG@10 before renaming: {whole.mean():.4f}")
    name = f"renamed-{asked.part}-{asked.replace:d}"
    before, after = measure(asked, data.renamed(names), name, list(names.values()))
    print(
        f"change by renaming {interval(before - whole)}; "
        f"recovered {(after - before).mean() / (whole - before).mean():.0%}"
    )


def new_names(data: SciFact, asked: argparse.Namespace) -> dict[str, str]:
    """Invented names for the nouns of the queries that occur in 10 to 300 documents, most queries first."""
    nouns, verbs, adjectives = (
        {line.split(" ", 1)[0] for line in (asked.wordnet / f"index.{kind}").read_text("utf-8").splitlines()}
        for kind in ("noun", "verb", "adj")
    )
    counts = [Counter[str](), Counter[str]()]
    for count, texts in zip(counts, (data.queries, data.documents), strict=True):
        for text in texts.values():
            count.update(set(_WORD.findall(text.lower())))
    known = load_tokens(asked.model).whole_words
    chosen = [
        word
        for word, _ in sorted(counts[0].items(), key=lambda item: (-item[1], item[0]))
        if len(word) > 3 and word in nouns - verbs - adjectives and 10 <= counts[1][word] <= 300
    ][: asked.words or 200]
    rng, made = random.Random(0), set[str]()
    while len(made) < len(chosen):
        name = "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(3)) + rng.choice(
            "lnrk"
        )
        if name not in known and name not in counts[1]:
            made.add(name)
    return dict(zip(chosen, sorted(made), strict=True))


def invented(asked: argparse.Namespace) -> None:
    """The right kind of each invented word among 2,000 words."""
    kinds = hypernyms()
    with TemporaryDirectory() as folder:
        out = Path(folder) / "taught"
        settings = TeachSettings(slash=not asked.replace)
        taught = teach([FOLDER / "text.txt"], out, words=list(kinds), model=asked.model, settings=settings)
        show_judged(taught)
        words = candidates(load_tokens(asked.model).whole_words, kinds)
        for title, place in (("pieces", asked.model), ("taught", out)):
            model = SentenceTransformer(str(place))
            texts = model.encode(words, normalize_embeddings=True)
            scores = model.encode(list(kinds), normalize_embeddings=True) @ texts.T
            ranks = []
            for row, own in enumerate(kinds.values()):
                best = max(scores[row, words.index(kind)] for kind in own)
                ranks.append(1 + int((scores[row] > best).sum()))
            print(f"{title}: MRR {np.mean(1 / np.array(ranks)):.3f} among {len(words)} words")


def judge(asked: argparse.Namespace) -> None:
    """What the judge makes of renamed nouns and of words that a search finds."""
    data = SciFact.read(asked.data, "train")
    names = new_names(data, asked)
    text = data.renamed(names).write(asked.work / "judge.jsonl")
    new = list(names.values())
    searched = found_words(text, asked.model, 2 * len(new))
    found = [word for word in searched if word not in new][: len(new)]
    settings, lm = TeachSettings(rule="any"), LanguageModel.from_pretrained(asked.model, kind="encoder")
    task = Task([text], asked.work / "judged", settings, new)
    store = task.open_store(lm, Stages(asked.work / "judge"))
    counts = choose_words(store, lm.tokens, settings, [*new, *found]).counts
    splits = [one for one in split_words(store, counts, settings) if len(one.folds) == 1]
    maker, _ = learner_for(lm, None, DEFAULT_MODEL)
    moved = [one.vector for one in maker.infer_each([(one.word, one.contexts) for one in splits])]
    made = [Made(one, row, row[None], 1.0, len(row)) for one, row in zip(splits, moved, strict=True)]
    judged = judge_on_target(lm, maker.lm, made, slash=False, listed=True)
    for title, words in (("renamed nouns", new), ("found words", found)):
        own = [one for one, split in zip(judged, splits, strict=True) if split.word in words]
        figures = [(one.pieces, one.vector, one.error, one.verdict != "worse") for one in own]
        pieces, vector, error, taught = np.mean(figures, axis=0)
        print(
            f"{len(own)} {title}: the pieces say {pieces:.4f}, the vector says {vector:.4f}, "
            f"standard error {error:.4f}, taught {taught:.2f}",
            flush=True,
        )


def speed(asked: argparse.Namespace) -> None:
    """Seconds to teach 100 words from 5 MB of text, and the least to load and encode before and after."""
    text, lines = asked.work / "speed.txt", list(SciFact.read(asked.data, "test").documents.values())
    text.write_text("\n".join(lines).encode()[:5_000_000].decode("utf-8", "ignore"), "utf-8")
    out = asked.work / f"speed-{time.time_ns()}"
    words = found_words(text, asked.model, 100)
    start, busy = time.perf_counter(), time.process_time()
    taught = teach([text], out, model=asked.model, words=words, device="cpu")
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    print(
        f"{len(taught.words)} of {len(words)} words taught from {text.stat().st_size:,} bytes: "
        f"{seconds:.1f} s, {busy:.1f} s of processor time"
    )
    texts = [" ".join(line.split()[:100]) for line in lines[:256]]
    loading, encoding = {}, {}
    places = (asked.model, out)
    for turn in range(20):
        for place in places if turn % 2 else places[::-1]:
            start = time.perf_counter()
            model = SentenceTransformer(str(place), device="cpu")
            loading.setdefault(place, []).append(time.perf_counter() - start)
            if turn < 5:
                start = time.perf_counter()
                model.encode(texts, show_progress_bar=False)
                encoding.setdefault(place, []).append(time.perf_counter() - start)
    for title, found in (("loading", loading), ("encoding 256 texts", encoding)):
        before, after = (min(found[place]) for place in places)
        print(f"{title}: {before:.3f} s -> {after:.3f} s, {after / before - 1:+.1%}")


_MEASUREMENTS = {
    "invented": invented,
    "scifact": scifact,
    "renamed": renamed,
    "judge": judge,
    "speed": speed,
    "causal": causal,
    "peers": peers,
    "following": following,
}


def main() -> None:
    """Run one measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=tuple(_MEASUREMENTS))
    parser.add_argument(
        "--model", type=Path, required=True, help="a sentence-transformers folder, or a causal LM"
    )
    parser.add_argument("--data", type=Path, help="the folder of SciFact")
    parser.add_argument("--part", choices=("train", "test"), default="test")
    parser.add_argument("--documents", type=int, default=10_000, help="at most N documents of SciFact")
    parser.add_argument("--work", type=Path, help="a folder for taught models and embeddings")
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument(
        "--words", type=int, help="how many words to rename (200), or to teach at most (1000)"
    )
    parser.add_argument("--steps", type=int, default=100, help="of peers")
    parser.add_argument("--replace", action="store_true", help="every word as one token")
    parser.add_argument("--train", type=Path, nargs="+", help="the sentences of following to teach from")
    parser.add_argument("--test", type=Path, nargs="+", help="the sentences of following to measure in")
    asked = parser.parse_args()
    _MEASUREMENTS[asked.what](asked)


if __name__ == "__main__":
    main()

"""What one definition per word is worth: WNLaMPro with WordNet's definitions, and NewTerm.

    python experiments/glossary/run.py wnlampro --model default --subset test --out results/wnlampro.json
    python experiments/glossary/run.py masked   --model default --newterm DIR --year 2023 --year 2024
    python experiments/glossary/run.py encoder  --model FOLDER  --newterm DIR --year 2023 --year 2024

``wnlampro``: the mean reciprocal rank of WNLaMPro's targets when each keyword is taught from its
first WordNet definition, alone, with the sentences of a corpus, or not at all.
``masked``: the log-probability of the words around a new term in sentences that use it.
``encoder``: a sentence that uses a new term is the query; the meanings of all terms of its year are ranked.
"""

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import numpy as np
import typer

from rarewords import LanguageModel, Query, Store, WordLearner, WordVectors, __version__, teach
from rarewords.corpus.text import words_of
from rarewords.mimic.evidence import Evidence
from rarewords.mimic.masked import find_word
from rarewords.probe.build import open_wordnet
from rarewords.probe.dataset import BANDS, Dataset, Entry, band_of
from rarewords.probe.evaluate import EvalSettings, evaluate
from rarewords.teaching.judge import mask_neighbours
from rarewords.teaching.settings import TeachSettings

app = typer.Typer(add_completion=False)
Out = Annotated[Path | None, typer.Option(help="Write the numbers as JSON.")]
_PART_OF_SPEECH = {"antonym": "a", "hypernym": "n", "cohyponym": "n"}
_SENTENCES = 32


@app.command()
def wnlampro(
    model: str = "default",
    subset: str = "dev",
    limit: int | None = None,
    corpus: Path | None = None,
    seed: int = 0,
    out: Out = None,
) -> None:
    """WNLaMPro's keywords, taught from their definition in WordNet."""
    lm = LanguageModel.from_pretrained(model)
    learner, glosses = WordLearner.for_model(lm), _glosses(lm, subset)
    chosen = sorted(
        random.Random(seed).sample(list(glosses), min(limit or len(glosses), len(glosses))), key=str
    )
    dataset, opened = Dataset(tuple(chosen), "glosses"), Store.open(corpus) if corpus else None
    gloss_of = {entry.word.text: glosses[entry] for entry in chosen}
    texts = {
        word: [one.sentence for one in opened.contexts(word, _SENTENCES)] if opened else []
        for word in gloss_of
    }
    ways = {"definition": [Evidence(word, (), (gloss,)) for word, gloss in gloss_of.items()]}
    if opened:
        ways["sentences"] = [Evidence(word, list(dict.fromkeys(texts[word]))) for word in gloss_of]
        ways["both"] = [
            Evidence(one.word, two.sentences, one.definitions)
            for one, two in zip(*ways.values(), strict=True)
        ]
    answered = np.array([_says(glosses[entry], entry) for entry in chosen])
    bands = np.array([band_of(entry.word.count) for entry in chosen])
    rows = {"subwords": _mrr(lm, dataset, EvalSettings(), None, bands, answered)}
    for name, tasks in ways.items():
        found = [one for one in learner.infer_each(tasks) if one is not None]
        embeddings = WordVectors([one.word for one in found], np.stack([one.vector for one in found]))
        for placement in ("replace", "append"):
            settings = EvalSettings(method="vectors", slash=placement == "append")
            rows[f"{name}, {placement}"] = _mrr(lm, dataset, settings, embeddings, bands, answered)
    _write(
        out,
        {"experiment": "wnlampro", "model": lm.name, "subset": subset, "entries": len(chosen), "rows": rows},
    )


@app.command()
def masked(
    newterm: Path, year: list[int], model: str = "default", placement: str = "append", out: Out = None
) -> None:
    """NewTerm with a masked LM: the change of the log-probability of neighbours, and its controls."""
    lm = LanguageModel.from_pretrained(model)
    learner = WordLearner.for_model(lm)
    uses = [use for one in year for use in _uses(newterm / str(one)) if len(lm.pieces(use["term"])) > 1]
    others = random.Random(0).sample(uses, len(uses))  # a random other term's definition
    own, other = (
        [
            one.vector
            for one in learner.infer_each(
                [
                    Evidence(use["term"], (), (given["meaning"],))
                    for use, given in zip(uses, source, strict=True)
                ]
            )
        ]
        for source in (uses, others)
    )
    mean = learner.known.mean.cpu().numpy()
    ways = {
        "subwords": None,
        "definition": own,
        "mean embedding": [mean] * len(uses),
        "another definition": other,
    }
    scores: dict[str, np.ndarray] = {}
    for name, embeddings in ways.items():
        queries, tokens, owners = [], [], []
        for row, use in enumerate(uses):
            place = find_word(use["term"], use["question"], lower_case=lm.lower_case)
            for pattern, token in mask_neighbours(lm, (use["question"], *place)):
                given = (
                    {} if embeddings is None else {"vector": embeddings[row], "slash": placement == "append"}
                )
                queries.append(Query(pattern, use["term"], **given))
                tokens.append(token)
                owners.append(row)
        found = lm.log_likelihood(queries, tokens)
        scores[name] = np.bincount(owners, found, len(uses)) / np.maximum(
            np.bincount(owners, minlength=len(uses)), 1
        )
    used = np.bincount(owners, minlength=len(uses)) > 0
    rows = {name: _difference((scores[name] - scores["subwords"])[used]) for name in list(ways)[1:]}
    rows |= {
        f"definition − {name}": _difference((scores["definition"] - scores[name])[used])
        for name in list(ways)[2:]
    }
    _write(
        out,
        {
            "experiment": "newterm masked",
            "model": lm.name,
            "years": year,
            "terms": int(used.sum()),
            "placement": placement,
            "rows": rows,
        },
    )


@app.command()
def encoder(newterm: Path, year: list[int], model: Path, out: Out = None) -> None:
    """NewTerm with an encoder: a sentence that uses the term against all meanings of its year."""
    from sentence_transformers import SentenceTransformer

    rows: dict[str, list[float]] = {}
    for one in year:
        uses = _uses(newterm / str(one))
        meanings = list(
            dict.fromkeys(
                json.loads(line)["meaning"] for line in (newterm / str(one) / "new_terms.jsonl").open()
            )
        )
        glossary = {use["term"]: use["meaning"] for use in uses}
        shuffled = dict(
            zip(glossary, random.Random(0).sample(list(glossary.values()), len(glossary)), strict=True)
        )
        blanked = [
            use["question"].replace(
                use["question"][slice(*find_word(use["term"], use["question"], lower_case=True))], "it"
            )
            for use in uses
        ]
        rows.setdefault("untaught", []).extend(_ranks(SentenceTransformer(str(model)), uses, meanings))
        rows.setdefault("term blanked", []).extend(
            _ranks(SentenceTransformer(str(model)), uses, meanings, blanked)
        )
        for name, given, placement in (
            ("definition, replace", glossary, "replace"),
            ("definition, append", glossary, "append"),
            ("another definition, append", shuffled, "append"),
        ):
            with TemporaryDirectory() as folder:
                settings = TeachSettings(slash=placement == "append")
                teach([], Path(folder) / "taught", glossary=given, model=model, settings=settings)
                rows.setdefault(name, []).extend(
                    _ranks(SentenceTransformer(f"{folder}/taught"), uses, meanings)
                )
    base = np.array(rows["untaught"])
    table = {
        name: {"mrr": float(np.mean(own)), **_difference(np.array(own) - base)} for name, own in rows.items()
    }
    _write(
        out,
        {
            "experiment": "newterm encoder",
            "model": model.resolve().name,
            "years": year,
            "sentences": len(base),
            "rows": table,
        },
    )


def _glosses(lm: LanguageModel, subset: str) -> dict[Entry, str]:
    """The entries whose keyword has several subwords and a definition in WordNet, with that definition."""
    reader, found = open_wordnet(), {}
    for entry in Dataset.load():
        pos = _PART_OF_SPEECH.get(entry.relation)
        if pos and entry.subset == subset and len(lm.pieces(entry.word.text)) > 1:
            senses = reader.synsets(entry.word.text, pos=pos)
            if senses:
                found[entry] = senses[0].definition()
    return found


def _says(gloss: str, entry: Entry) -> bool:
    return not {target.text for target in entry.targets}.isdisjoint(words_of(gloss, lower_case=True))


def _mrr(
    lm: Any, dataset: Any, settings: Any, embeddings: Any, bands: Any, answered: Any
) -> dict[str, float]:
    found = evaluate(lm, dataset, settings, vectors=embeddings).reciprocal
    cells = {band: found[bands == band] for band in BANDS}
    cells |= {
        "target in definition": found[answered],
        "no target in definition": found[~answered],
        "all": found,
    }
    return {name: round(float(values.mean()), 4) for name, values in cells.items() if len(values)}


def _uses(folder: Path) -> list[dict[str, Any]]:
    """The sentences that use a term of the year rightly and contain it as it is spelled."""
    path = folder / "CSJ_clean.jsonl"
    lines = (path if path.is_file() else folder / "CSJ.jsonl").read_text("utf-8").splitlines()
    uses = [json.loads(line) for line in lines]
    return [use for use in uses if use["gold"] and find_word(use["term"], use["question"], lower_case=True)]


def _ranks(encoder: Any, uses: Any, meanings: list[str], texts: list[str] | None = None) -> list[float]:
    queries = encoder.encode(texts or [use["question"] for use in uses], normalize_embeddings=True)
    scores = queries @ encoder.encode(meanings, normalize_embeddings=True).T
    true = scores[np.arange(len(uses)), [meanings.index(use["meaning"]) for use in uses]]
    return (1 / (1 + (scores > true[:, None]).sum(1))).tolist()


def _difference(values: np.ndarray) -> dict[str, float]:
    drawn = np.random.default_rng(0).choice(values, (2000, len(values))).mean(1)
    low, high = np.percentile(drawn, [2.5, 97.5])
    return {
        "difference": round(float(values.mean()), 4),
        "low": round(float(low), 4),
        "high": round(float(high), 4),
    }


def _write(out: Path | None, result: dict[str, Any]) -> None:
    text = json.dumps({"version": __version__, **result}, indent=1, ensure_ascii=False) + "\n"
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, "utf-8")
    typer.echo(text)


if __name__ == "__main__":
    app()

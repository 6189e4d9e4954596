"""Part ``beyond``: our own default method beside AM+context, on the same entries."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rarewords.files import read_json, write_json
from rarewords.mimic.readings import lengthened
from rarewords.probe.dataset import BANDS
from rarewords.report.tables import figure
from rarewords.reproduction.claims import Claim
from rarewords.reproduction.configurations import title_of
from rarewords.reproduction.document import Block, Figure, Table, Text
from rarewords.reproduction.figures import draw_main
from rarewords.reproduction.laboratory import EXAMPLE_WORDS, Laboratory, content, load_vectors
from rarewords.reproduction.parts.base import Facts, Part, Result
from rarewords.reproduction.parts.comparing import (
    cell_of,
    compared,
    difference_table,
    main_table,
    save_all,
    threshold_text,
    with_mixture,
)
from rarewords.reproduction.parts.examples import ask_all, query_blocks
from rarewords.reproduction.parts.main import CONFIGURATION
from rarewords.reproduction.results import of_set
from rarewords.vectors import WordVectors

LABEL = "WordLearner"
LENGTHENED = f"{title_of(CONFIGURATION)}, lengthened"
LENGTHS = (1.0, 1.2, 1.4, 1.6)


def run(lab: Laboratory, folder: Path) -> Result:
    """Vectors of our default method for all keywords, against the pieces and against AM+context."""
    made, refused = _vectors(lab)
    training = lab.training(CONFIGURATION, lab.settings.seed)
    mimicked = training.vectors[lab.settings.sample.epochs[-1]]
    am = lab.probe(title_of(CONFIGURATION), vectors=mimicked)
    longer, lengths = _lengthened(lab, mimicked)
    stretched = lab.probe(LENGTHENED, vectors=longer)
    ours = lab.probe(LABEL, vectors=made)
    mixed, below, tried = with_mixture(lab.dataset, lab.pieces, ours)
    every = (lab.pieces, am, stretched, ours)
    test = [of_set(result, lab.dataset, "test") for result in every]
    save_all([*test, mixed], folder, "beyond")
    dev = [of_set(result, lab.dataset, "dev") for result in every]
    keywords = set(lab.keywords)
    return {
        "comparison": compared([*test, mixed]),
        "against": compared([test[1], test[3]]),
        "lengths": lengths,
        "dev": [[result.label, round(result.mrr, 6)] for result in dev],
        "dev_mixed": round(max(mrr for _, mrr in tried), 6),
        "below": None if np.isinf(below) else below,
        "refused": sum(word in keywords for word in refused),
        "learner": lab.learner_identity,
        "contexts": min(lab.learner.settings.contexts, lab.settings.sample.contexts or 10**9),
        "queries": ask_all(lab, {title_of(CONFIGURATION): mimicked, LABEL: made}),
    }


def _lengthened(lab: Laboratory, mimicked: WordVectors) -> tuple[WordVectors, list[tuple[float, float]]]:
    """AM+context's vectors at the length that is best on dev, and dev MRR by length."""
    dev = mimicked.subset(word for word in lab.dev_keywords if word in mimicked)
    tried = []
    for scale in LENGTHS:
        vectors = lengthened(lab.lm, dev, scale)
        result = lab.probe(f"{title_of(CONFIGURATION)}, length {scale}", vectors=vectors, subset="dev")
        tried.append((scale, round(result.mrr, 6)))
    return lengthened(lab.lm, mimicked, max(tried, key=lambda one: one[1])[0]), tried


def _vectors(lab: Laboratory) -> tuple[WordVectors, list[str]]:
    words = list(dict.fromkeys([*lab.keywords, *EXAMPLE_WORDS]))
    limit = lab.settings.sample.contexts
    recipe = {
        **lab.identity,
        "settings": lab.learner_identity,
        "limit": limit,
        "targets": content(lab.approximations),
    }

    def make(target: Path, _: Path) -> None:
        learner = lab.learner.with_settings()
        learner.approximations = lab.approximations
        made = learner.infer_words(words, lab.store, limit=limit)
        made.vectors.save(target / "vectors.safetensors")
        write_json(target / "refused.json", sorted(made.refused))

    stage = lab.workshop.stage(f"Vectors of {LABEL}", recipe, make)
    return load_vectors(stage / "vectors.safetensors"), read_json(stage / "refused.json")


def blocks(result: Result, figures: Path) -> list[Block]:
    """The main table with our method, and how it differs from AM+context."""
    comparison, learner = result["comparison"], result["learner"]
    draw_main(comparison, figures / "beyond")
    best_length = max(result["lengths"], key=lambda one: one[1])[0]
    fitted = learner["fitted"]
    trained = (
        f"its one matrix was fitted on {fitted['words']:,} known words"
        if fitted.get("words")
        else "nothing is trained at all"
    )
    return [
        Text(
            "This is not in the paper: the same entries with our own default method, which reads a word's "
            "contexts with the language model itself (what does it expect in the word's place?) and adds "
            f"known words of similar spelling; {trained}. It reads at most "
            f"{result['contexts']} contexts of a word. `{LENGTHENED}` has the paper's vectors, each "
            f"brought to {best_length} times the length embeddings have around "
            "their mean: least squares makes a vector the shorter the less sure it is, and short vectors say "
            f"little to the model. `{comparison['results'][-1]}`: "
            f"{threshold_text(result['below'])}, pieces otherwise, chosen on dev."
            + (
                f" {result['refused']} keywords without a vector keep their pieces."
                if result["refused"]
                else ""
            )
        ),
        Figure(
            figures / "beyond",
            "MRR on test by relation and frequency; bars are 95 % bootstrap intervals of the difference "
            "to the pieces. Pale: the paper's BERT-base.",
            "MRR by relation and frequency of pieces, AM+context and our method",
        ),
        main_table(
            comparison,
            "beyond",
            "MRR, P@3 and P@10 on test. Bold: the best; * differs significantly from the pieces (two-sided "
            "binomial test, p < .05).",
            paper=False,
        ),
        difference_table(result["against"], "beyond-against"),
        Table(
            "beyond-dev",
            "MRR on dev with a vector for every keyword, and mixed with pieces by count.",
            ["", *(label for label, _ in result["dev"]), f"{LABEL}, mixed"],
            [["dev", *(figure(mrr) for _, mrr in result["dev"]), figure(result["dev_mixed"])]],
        ),
        Table(
            "beyond-lengths",
            f"MRR on dev of {title_of(CONFIGURATION)} with vectors of one length.",
            ["", *(str(scale) for scale, _ in result["lengths"])],
            [["dev", *(figure(mrr) for _, mrr in result["lengths"])]],
        ),
        *query_blocks(result["queries"]),
    ]


def claims(_: Result) -> list[Claim]:
    """None: the paper says nothing about it."""
    return []


def reasons(result: Result, facts: Facts) -> list[str]:
    """Where our method gains and loses against AM+context."""
    told = []
    for band in BANDS:
        cell = cell_of(result["against"], "all", band)
        if cell is not None:
            one, other = cell["mrr"]
            told.append(f"{band} {figure(one['mean'])} → {figure(other['mean'])}")
    lines = [f"MRR on test from AM+context to {LABEL}: {', '.join(told)}."]
    share = facts["without_contexts"]
    lines.append(
        f"{share:.0%} of the keywords have no context in the corpus; there only the spelling speaks, in "
        "either method."
    )
    return lines


PART = Part("beyond", "Our own method beside AM+context", run, blocks, claims, reasons, beyond=True)

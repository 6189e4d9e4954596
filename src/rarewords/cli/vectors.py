"""``rarewords mimic``: fit a learner, train a mimic model, infer vectors with either; ``rarewords ota``."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords import progress
from rarewords.cli import options
from rarewords.errors import InputError
from rarewords.mimic.settings import LearnerSettings, MimicSettings, is_learner
from rarewords.mimic.settings import preset as settings_of
from rarewords.models import model_kind
from rarewords.ota.settings import BASELINES, OtaSettings
from rarewords.stages import Stages, require_free, work_beside
from rarewords.vectors import open_vectors, read_words

app = typer.Typer(no_args_is_help=True, help="Vectors for words from their contexts and their spelling.")


@app.command()
def fit(
    corpus: Path,
    out: Path,
    model: str = "default",
    contexts: int = 16,
    min_count: int = 50,
    plan: bool = False,
    settings: Path | None = None,
    seed: int = 0,
    device: str = "auto",
    as_json: bool = False,
) -> None:
    """Fit a learner: one matrix, in closed form, on words the model knows.

    The language model reads contexts of words it knows, with the word masked and forbidden as an answer. The
    matrix brings these readings to the model's own embeddings. `--settings` takes the fields of
    LearnerSettings, which the learner keeps. An interrupted run resumes where it stopped.

    Example: `rarewords mimic fit --model M --corpus wiki.store --out learner`
    """
    require_free(out)
    chosen, store = options.read_settings(settings, LearnerSettings), rarewords.Store.open(corpus)
    if plan:
        from rarewords.teaching.plan import plan_fitting

        found, words = plan_fitting(corpus, model, contexts=contexts, min_count=min_count, device=device)
        line = f"Would fit {found.model} on {words:,} words, {contexts} contexts each"
        about = {**found.as_json(), "words": words, "contexts": contexts}
        options.show(as_json, about, line, *found.lines())
        return
    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    learner = rarewords.WordLearner.fit(
        lm, store, chosen, contexts=contexts, min_count=min_count, seed=seed, stages=_readings_beside(corpus)
    )
    learner.save_pretrained(out)
    words, cosine = learner.fitted["words"], learner.fitted["held_out_cosine"]
    line = f"{out}: fitted on {words:,} words, held-out cosine {cosine:.3f}"
    options.show(as_json, {"folder": str(out), **learner.fitted}, line)


@app.command()
def infer(
    words: Path,
    corpus: Path,
    out: Path,
    learner: str | None = None,
    model: str = "default",
    contexts: int | None = None,
    settings: Path | None = None,
    cache: bool = True,
    workers: int = 1,
    engine: str = "local",
    device: str = "auto",
    as_json: bool = False,
) -> None:
    """Infer vectors for words from their contexts in a corpus and their spelling.

    By default the language model reads the contexts itself, with the matrix that ships for the bundled model
    or that of a learner made by `mimic fit`. A word without contexts gets its vector from its spelling; a
    word that also resembles no known word is reported and left out. `--settings` changes fields of
    LearnerSettings (reading, spelling, condense, ...).

    With `--learner am`, or a folder made by `mimic train`, attentive mimicking infers the vectors: worse, but
    much faster.

    Example: `rarewords mimic infer --words rare.txt --corpus wiki.store --out rare.safetensors`
    """
    attentive = learner is not None and not is_learner(learner)
    if attentive and (settings is not None or workers > 1 or engine != "local"):
        raise InputError("--settings, --workers and --engine have no effect on attentive mimicking")
    changes = options.settings_values(settings, LearnerSettings)
    asked, store = read_words(words), rarewords.Store.open(corpus)

    from rarewords.teaching.learners import open_learner  # loads torch; mistakes need not wait for it

    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    opened, _ = open_learner(lm, learner)
    if isinstance(opened, rarewords.AttentiveMimicking):
        done = opened.infer_words(asked, store, contexts=contexts)
    else:
        with options.engine_or_none(engine, workers) as runner:
            stages, reader = _readings_beside(corpus) if cache else None, opened.with_settings(**changes)
            done = reader.infer_words(asked, store, contexts=contexts, stages=stages, engine=runner)
    options.save_vectors(out, done.vectors, done.refused)
    rows = zip(done.vectors.words, done.context_share.tolist(), done.contexts.tolist(), strict=True)
    shown = [{"word": word, "context_share": round(part, 3), "contexts": n} for word, part, n in rows]
    share = f"{float(done.context_share.mean()):.0%} from contexts on average"
    line = f"{out}: {len(done.vectors):,} words, {len(done.refused)} refused, {share}"
    options.show(as_json, {"file": str(out), "words": shown, "refused": done.refused}, line)


def _readings_beside(corpus: Path) -> Stages:
    path = corpus.resolve()
    stages = Stages(path.with_name(path.name + ".readings"))
    progress.message(f"Readings are kept in {stages.path}; the same command resumes from there")
    return stages


@app.command()
def train(
    corpus: Path,
    out: Path,
    targets: Path | None = None,
    model: str = "default",
    preset: str = "am+context",
    epochs: int | None = None,
    settings: Path | None = None,
    seed: int | None = None,
    device: str = "auto",
    as_json: bool = False,
) -> None:
    """Train an attentive mimicking model on a corpus.

    The model learns to predict the embedding of a word from its spelling and its contexts, from words with a
    count of at least 100. The embedding of a word of one piece is the model's own, that of a word of several
    pieces comes from `--targets`. `--settings` takes the fields of MimicSettings; `form`, `context` and
    `attention` leave a part out if false. An interrupted training resumes with the same command.

    Example: `rarewords mimic train --corpus wiki.store --targets ota.safetensors --out mimic`
    """
    values = options.settings_values(settings, MimicSettings, epochs=epochs, seed=seed)
    chosen = settings_of(preset, **values)
    require_free(out)
    store, vectors = rarewords.Store.open(corpus), None if targets is None else open_vectors(targets)
    if vectors is None:
        progress.message("No --targets: learning from words of one piece only")
    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    with work_beside(out) as stages:
        fitted = rarewords.AttentiveMimicking.fit(
            lm,
            store,
            vectors,
            chosen,
            work=stages.path,
            after_epoch=lambda report, _: progress.message(_line(report)),
        )
        fitted.save_pretrained(out)
    about = {"folder": str(out), "settings": asdict(chosen), "history": list(map(vars, fitted.history))}
    options.show(as_json, about, f"{out}: trained, {_line(fitted.history[-1])}")


def _line(report: Any) -> str:
    cosine = "" if report.held_out_cosine is None else f", held-out cosine {report.held_out_cosine:.3f}"
    loss = f"epoch {report.epoch}: loss {report.loss:.5f}, {report.context_share:.0%} from contexts"
    return f"{loss}{cosine}, {report.examples_per_second:,.0f} examples/s"


def ota(
    words: Path,
    out: Path,
    model: str = "default",
    preset: str | None = None,
    method: str = "ota",
    steps: int | None = None,
    keep_single: bool = False,
    settings: Path | None = None,
    workers: int = 1,
    engine: str = "local",
    device: str = "auto",
    as_json: bool = False,
) -> None:
    """Compute one vector for each word of several pieces, which acts in the model as its pieces do.

    Finished words are kept beside the output: after an interruption the same command resumes. `--settings`
    takes the fields of OtaSettings: frame, start, layers, rate, seed, ...
    """
    given = {"--preset": preset, "--steps": steps, "--settings": settings}
    idle = next((option for option, value in given.items() if value is not None), None)
    if method in BASELINES and idle is not None:
        raise InputError(f"{idle} has no effect with --method {method}; leave it out")
    changes = options.settings_values(settings, OtaSettings, steps=steps)
    chosen = OtaSettings.preset(preset or "fast", **changes)

    listed = read_words(words)

    import torch  # takes seconds; mistakes in the options need not wait for it

    torch.set_float32_matmul_precision("high")  # TF32 on a GPU
    lm = rarewords.LanguageModel.from_pretrained(model, device=device, kind=model_kind(model))
    with options.engine_or_none(engine, workers) as runner, work_beside(out) as stages:
        result = rarewords.approximate(
            lm, listed, chosen, method=method, keep_single=keep_single, stages=stages, engine=runner
        )
        options.save_vectors(out, result.vectors, result.refused)
    made, refused = len(result.vectors), result.refused
    about = {"out": str(out), "words": made, "refused": refused}
    options.show(as_json, about, f"{out}: {made:,} vectors, {len(refused):,} words refused")

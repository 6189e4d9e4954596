"""``rarewords mimic``: fit a learner, train a mimic model, and infer vectors with either."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rarewords.cli import options
from rarewords.errors import InputError

if TYPE_CHECKING:  # imported inside the commands: torch and transformers take seconds
    from rarewords.corpus.store import Store
    from rarewords.stages import Stages


@dataclass(frozen=True)
class _AttentiveSettings:
    """What can be changed after `mimic train`."""

    scale: float = 0.0


app = typer.Typer(no_args_is_help=True, help="Vectors for words from their contexts and their spelling.")


@app.command()
def fit(
    corpus: options.Corpus,
    out: Annotated[Path, typer.Option(help="Folder of the new learner.")],
    model: options.Model = "default",
    contexts: Annotated[int, typer.Option(min=1, help="Read at most N contexts per word.", metavar="N")] = 16,
    min_count: Annotated[int, typer.Option(min=1, help="Learn from words that occur N times.")] = 50,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Say how many words there are and how long it would take; do nothing."),
    ] = False,
    settings: options.SettingsFile = None,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Fit a learner: one matrix, in closed form, on words the model knows.

    The language model reads contexts of words it knows, with the word masked and forbidden as an answer. The
    matrix brings these readings to the model's own embeddings. `--settings` takes the fields of
    LearnerSettings, which the learner keeps. An interrupted run resumes where it stopped.

    Example: `rarewords mimic fit --model M --corpus wiki.store --out learner`
    """
    from rarewords.corpus.store import Store
    from rarewords.lm import LanguageModel
    from rarewords.mimic.learner import WordLearner
    from rarewords.mimic.settings import LearnerSettings
    from rarewords.stages import require_free

    require_free(out)
    chosen, store = options.read_settings(settings, LearnerSettings), Store.open(corpus)
    if plan:
        _plan_fit(corpus, model, contexts, min_count, seed, device, as_json)
        return
    lm = LanguageModel.from_pretrained(model, device=device)
    learner = WordLearner.fit(
        lm, store, chosen, contexts=contexts, min_count=min_count, seed=seed, stages=_readings_beside(store)
    )
    learner.save_pretrained(out)
    fitted = learner.fitted
    assert fitted is not None
    if as_json:
        options.print_json({"folder": str(out), **vars(fitted)})
    else:
        typer.echo(f"{out}: fitted on {fitted.words:,} words, held-out cosine {fitted.held_out_cosine:.3f}")


def _plan_fit(
    corpus: Path, model: str, contexts: int, min_count: int, seed: int, device: str, as_json: bool
) -> None:
    from rarewords.cli.teach import print_seconds
    from rarewords.teaching.plan import plan_fitting

    found = plan_fitting(corpus, model, contexts=contexts, min_count=min_count, seed=seed, device=device)
    if as_json:
        options.print_json(found.as_json())
        return
    typer.echo(f"Would fit {found.model} on {found.words:,} words, {found.contexts} contexts each")
    print_seconds(found)


@app.command()
def infer(
    words: options.Words,
    corpus: options.Corpus,
    out: Annotated[Path, typer.Option(help="File of the new vectors (.safetensors).")],
    learner: options.Learner = None,
    model: options.Model = "default",
    contexts: options.Contexts = None,
    approximations: Annotated[
        Path | None,
        options.advanced(help="Cached vectors of the pieces, made by `rarewords ota`; computed if missing."),
    ] = None,
    settings: options.SettingsFile = None,
    cache: Annotated[
        bool, options.advanced(help="Keep what is read beside the store (STORE.readings).")
    ] = True,
    workers: options.OneWorker = 1,
    engine: options.EngineName = "local",
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Infer vectors for words from their contexts in a corpus and their spelling.

    By default the language model reads the contexts itself, with the matrix that ships for the bundled model
    or that of a learner made by `mimic fit`. A word without contexts gets its vector from its spelling; a
    word that also resembles no known word is reported and left out. `--settings` changes fields of
    LearnerSettings (scale, pieces, matrix, reading, ...).

    With `--learner am`, or a folder made by `mimic train`, attentive mimicking infers the vectors: worse, but
    much faster. Here `--settings` can change `scale`; `scale = 1.4` suits the paper's presets, whose vectors
    are shorter than embeddings.

    Example: `rarewords mimic infer --words rare.txt --corpus wiki.store --out rare.safetensors`
    """
    from rarewords.corpus.store import Store
    from rarewords.lm import LanguageModel
    from rarewords.mimic.attentive import AttentiveMimicking, check_made_for
    from rarewords.mimic.learner import WordLearner
    from rarewords.mimic.settings import LearnerSettings, bundled_mimic, is_learner
    from rarewords.vectors import open_vectors, read_words

    attentive = learner is not None and not is_learner(learner)
    if attentive and (workers > 1 or engine != "local" or approximations is not None):
        raise InputError("--workers, --engine and --approximations have no effect on attentive mimicking")
    changes = options.settings_values(settings, _AttentiveSettings if attentive else LearnerSettings)
    ready = None if approximations is None else open_vectors(approximations)
    asked, store = read_words(words), Store.open(corpus)
    lm = LanguageModel.from_pretrained(model, device=device)
    if attentive:
        folder = bundled_mimic(lm.fingerprint) if learner == "am" else Path(str(learner))
        mimic = AttentiveMimicking.from_pretrained(folder, lm)
        mimic = mimic.with_scale(changes["scale"]) if changes else mimic
        done = mimic.infer_words(asked, store, contexts=contexts)
    else:
        check_made_for(lm, ready, "approximations")
        reader = WordLearner.for_model(lm, learner).with_approximations(ready).with_settings(**changes)
        with options.engine_or_none(engine, workers) as runner:
            stages = _readings_beside(store) if cache else None
            done = reader.infer_words(asked, store, contexts=contexts, stages=stages, engine=runner)
    if not len(done.vectors):
        word, reason = next(iter(done.refused.items()))
        raise InputError(f"none of the {len(asked)} words could be given a vector; {word!r}: {reason}")
    for word, reason in done.refused.items():
        typer.echo(f"{word}: {reason}", err=True)
    done.vectors.save(out)
    if as_json:
        rows = zip(done.vectors.words, done.context_share.tolist(), done.contexts.tolist(), strict=True)
        shown = [{"word": word, "context_share": round(part, 3), "contexts": n} for word, part, n in rows]
        options.print_json({"file": str(out), "words": shown, "refused": done.refused})
        return
    share = float(done.context_share.mean())
    made, left_out = len(done.vectors), len(done.refused)
    typer.echo(f"{out}: {made:,} words, {left_out} refused, {share:.0%} from contexts on average")


def _readings_beside(store: Store) -> Stages:
    from rarewords.progress import message
    from rarewords.stages import Stages

    path = store.path.resolve()
    stages = Stages(path.with_name(path.name + ".readings"))
    message(f"Readings are kept in {stages.path}; the same command resumes from there")
    return stages


_PARTS = ("ota", "form", "context", "attention")


@app.command()
def train(
    corpus: options.Corpus,
    out: Annotated[Path, typer.Option(help="The folder of the new mimic model.")],
    targets: Annotated[
        Path | None,
        typer.Option(help="Vectors of words of several pieces, made by `rarewords ota --preset paper`."),
    ] = None,
    model: options.Model = "default",
    preset: Annotated[str, typer.Option(help="The paper's `am` or `am+context`.")] = "am+context",
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PART",
            help="Leave a part out: `ota` (learn from words of one piece only), `form`, `context` or "
            "`attention` (all contexts have the same weight). Repeatable.",
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Passes over the training words.  [default: 10]")
    ] = None,
    settings: options.SettingsFile = None,
    packed: Annotated[bool, options.advanced("--packed", help="Store matrices as int8.")] = False,
    seed: options.Seed = 0,
    device: options.Device = "auto",
    as_json: options.AsJson = False,
) -> None:
    """Train an attentive mimicking model on a corpus.

    The model learns to predict the embedding of a word from its spelling and its contexts, from words with a
    count of at least 100. The embedding of a word of one piece is the model's own, that of a word of several
    pieces comes from `--targets`. An interrupted training resumes with the same command.

    Example: `rarewords mimic train --corpus wiki.store --targets ota.safetensors --out mimic`
    """
    # Here, because torch takes seconds to load.
    from rarewords import progress
    from rarewords.corpus.store import Store
    from rarewords.lm import LanguageModel
    from rarewords.mimic.attentive import AttentiveMimicking
    from rarewords.mimic.settings import MimicSettings
    from rarewords.mimic.settings import preset as settings_of
    from rarewords.mimic.train import EpochReport
    from rarewords.stages import require_free, work_beside
    from rarewords.vectors import open_vectors

    left_out = set(without or ())
    if left_out - set(_PARTS):
        raise InputError(f"--without must be {', '.join(_PARTS)}, not {min(left_out - set(_PARTS))}")
    if targets is None and "ota" not in left_out:
        raise InputError("give --targets (made by rarewords ota), or --without ota to learn without them")
    if targets is not None and "ota" in left_out:
        raise InputError("--without ota ignores --targets; give one of them")
    switches: dict[str, Any] = dict.fromkeys(left_out - {"ota"}, False)
    values = options.settings_values(settings, MimicSettings, epochs=epochs, seed=seed or None, **switches)
    chosen = settings_of(preset, **values)
    require_free(out)
    store, vectors = Store.open(corpus), None if targets is None else open_vectors(targets)
    lm = LanguageModel.from_pretrained(model, device=device)

    def after_epoch(report: EpochReport, _: AttentiveMimicking) -> None:
        progress.message(_line(report))

    with work_beside(out) as stages:
        fitted = AttentiveMimicking.fit(lm, store, vectors, chosen, work=stages.path, after_epoch=after_epoch)
        fitted.save_pretrained(out, packed=packed)
    if as_json:
        history = [vars(report) for report in fitted.history]
        options.print_json({"folder": str(out), "settings": asdict(chosen), "history": history})
    else:
        typer.echo(f"{out}: trained, {_line(fitted.history[-1])}")


def _line(report: Any) -> str:
    cosine = "" if report.held_out_cosine is None else f", held-out cosine {report.held_out_cosine:.3f}"
    loss = f"epoch {report.epoch}: loss {report.loss:.5f}, {report.context_share:.0%} from contexts"
    return f"{loss}{cosine}, {report.examples_per_second:,.0f} examples/s"

"""``rarewords mimic``: train a mimic model, and make vectors with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rarewords.cli.options import AsJson, Device, Model, print_json

app = typer.Typer(no_args_is_help=True, help="Vectors for words from their sentences and their spelling.")

Corpus = Annotated[Path, typer.Option("--corpus", help="A store made by `rarewords corpus build`.")]


@app.command()
def train(
    corpus: Corpus,
    out: Annotated[Path, typer.Option(help="The new mimic model's folder.")],
    model: Model = "default",
    targets: Annotated[
        Path | None, typer.Option(help="Vectors of words of several pieces, made by `rarewords ota`.")
    ] = None,
    preset: Annotated[
        str,
        typer.Option(
            help="readings, the default; am or am+context, as in the paper; am+pieces, with what the pieces "
            "say; am+readings, the paper's model over readings."
        ),
    ] = "readings",
    epochs: Annotated[
        int | None,
        typer.Option(min=1, help="Passes over the training words (am, am+context 10; am+pieces 5)."),
    ] = None,
    no_ota: Annotated[
        bool, typer.Option("--no-ota", help="Ablation: learn from words of one piece only.")
    ] = False,
    no_form: Annotated[bool, typer.Option("--no-form", help="Ablation: contexts alone.")] = False,
    no_context: Annotated[bool, typer.Option("--no-context", help="Ablation: spelling alone.")] = False,
    no_attention: Annotated[
        bool,
        typer.Option("--no-attention", help="The plain form-context model: all contexts count the same."),
    ] = False,
    min_count: Annotated[
        int | None, typer.Option(min=1, help="Learn from words this frequent (readings 50, am 100).")
    ] = None,
    ngram_limit: Annotated[int | None, typer.Option(min=0, help="Keep at most so many n-grams.")] = None,
    skip_frequent: Annotated[
        int | None, typer.Option(min=0, help="Leave the so many most frequent words out of contexts.")
    ] = None,
    centre: Annotated[
        bool, typer.Option("--centre", help="Learn differences from the mean embedding.")
    ] = False,
    form_dropout: Annotated[
        float | None, typer.Option(min=0.0, max=0.99, help="Share of training instances without their form.")
    ] = None,
    ngram_dropout: Annotated[
        float | None, typer.Option(min=0.0, max=0.99, help="Share of n-grams dropped (am 0, am+context .1).")
    ] = None,
    scale: Annotated[
        float | None,
        typer.Option(min=0.0, help="The length of the vectors it will make; 0, the paper's, as they come."),
    ] = None,
    pieces: Annotated[
        float | None,
        typer.Option(min=0.0, help="Weight of the pieces' approximation in the vectors it will make."),
    ] = None,
    loss: Annotated[
        str | None, typer.Option(help="squared (the paper's), or cosine: only directions count.")
    ] = None,
    split: Annotated[
        bool,
        typer.Option(
            "--split", help="Readings: learn from known words split into pieces, shown to the model."
        ),
    ] = False,
    held_out: Annotated[
        float | None, typer.Option(min=0.0, max=0.89, help="Share of training words kept for watching.")
    ] = None,
    dev_every: Annotated[
        int, typer.Option(min=0, help="Measure MRR on WNLaMPro dev after every so many epochs; 0: never.")
    ] = 0,
    contexts: Annotated[
        int | None, typer.Option(min=1, help="Read at most so many contexts a word (readings 16, am all).")
    ] = None,
    packed: Annotated[bool, typer.Option("--packed", help="Store large matrices as int8.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of every random choice.")] = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Train a mimic model on a corpus.

    Preset `readings` lets the language model read the contexts itself and fits one matrix, in closed form, on
    words the model knows. `am` and `am+context` are the paper's: they learn from words with a count of at
    least 100; the vector of a word of one piece is the model's own, that of a word of several pieces comes
    from `--targets`. `am+pieces` is the same with a loss of its own, and adds what the pieces say to the
    vectors (`--pieces`, with a `--scale`). An interrupted training goes on where it stopped.

    Example: `rarewords mimic train --corpus wiki.store --out learner`

    Example: `rarewords mimic train --preset am --corpus wiki.store --targets ota.safetensors --out am`
    """
    from rarewords import LanguageModel, progress
    from rarewords.corpus.store import Store
    from rarewords.errors import InputError
    from rarewords.mimic.measure import DevMeasure
    from rarewords.mimic.mimicking import AttentiveMimicking
    from rarewords.mimic.settings import preset as settings_of
    from rarewords.mimic.train import EpochReport
    from rarewords.vectors import open_vectors

    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        raise InputError(f"{out} exists and is not empty; choose another folder or remove it first")
    if preset == "readings":
        given = {
            "--targets": targets is not None,
            "--epochs": epochs is not None,
            "--no-ota": no_ota,
            "--no-form": no_form,
            "--no-context": no_context,
            "--no-attention": no_attention,
            "--ngram-limit": ngram_limit is not None,
            "--skip-frequent": skip_frequent is not None,
            "--centre": centre,
            "--form-dropout": form_dropout is not None,
            "--ngram-dropout": ngram_dropout is not None,
            "--scale": scale is not None,
            "--pieces": pieces is not None,
            "--loss": loss is not None,
            "--held-out": held_out is not None,
            "--packed": packed,
            "--dev-every": dev_every > 0,
        }
        foreign = [name for name, yes in given.items() if yes]
        if foreign:
            raise InputError(
                f"{foreign[0]} belongs to the presets am, am+context and am+pieces; add --preset am+context"
            )
        _fit_readings(corpus, out, model, min_count, contexts, seed, split, device, as_json)
        return
    if split:
        raise InputError("--split belongs to the preset readings")
    settings_of(preset)  # an unknown name is refused before anything else is asked for
    if no_ota and targets is not None:
        raise InputError("--no-ota leaves out what --targets gives; use one of them")
    if targets is None and not no_ota and preset != "am+readings":
        raise InputError(
            "give --targets (made by rarewords ota), or --no-ota to learn from one-piece words only"
        )
    changes: dict[str, Any] = {
        "form": not no_form,
        "context": not no_context,
        "attention": not no_attention,
        "seed": seed,
    }
    changes |= {"centre": True} if centre else {}
    optional = {
        "epochs": epochs,
        "min_count": min_count,
        "ngram_limit": ngram_limit,
        "skip_frequent": skip_frequent,
        "form_dropout": form_dropout,
        "ngram_dropout": ngram_dropout,
        "scale": scale,
        "pieces": pieces,
        "loss": loss,
        "held_out": held_out,
    }
    changes |= {name: value for name, value in optional.items() if value is not None}
    settings = settings_of(preset, **changes)
    lm = LanguageModel.from_pretrained(model, device=device)
    checkpoint = out.with_name(out.name + ".training")
    store = Store.open(corpus)
    mimicked = open_vectors(targets) if targets else None
    measured = DevMeasure(lm, store, dev_every) if dev_every else None
    ready = mimicked
    if measured is not None and settings.pieces:  # once, not at every measurement
        ready = measured.approximations(mimicked)

    def after_epoch(report: EpochReport, mimic: AttentiveMimicking) -> None:
        progress.message(_epoch_line(vars(report)))
        if measured is not None:
            measured(report, mimic)

    fitted = AttentiveMimicking.fit(
        lm,
        store,
        mimicked,
        settings,
        checkpoint=checkpoint,
        contexts_kept=contexts,
        approximations=ready,
        after_epoch=after_epoch,
    )
    fitted.save_pretrained(out, packed=packed)
    for path in checkpoint.iterdir():
        path.unlink()
    checkpoint.rmdir()
    history = [vars(report) for report in fitted.history]
    if as_json:
        dev = {} if measured is None else {"dev": measured.history}
        print_json({"folder": str(out), "settings": settings.to_dict(), "history": history, **dev})
    else:
        typer.echo(f"{out}: trained, {_epoch_line(history[-1])}")


@app.command()
def infer(
    words: Annotated[Path, typer.Option(help="A file with one word a line.")],
    corpus: Corpus,
    out: Annotated[Path, typer.Option(help="The file of the new vectors (.safetensors).")],
    mimic: Annotated[
        Path | None,
        typer.Option(help="A folder made by `rarewords mimic train`; the best for the model by default."),
    ] = None,
    reading: Annotated[
        bool, typer.Option("--reading", help="Without any training: what the model reads in the contexts.")
    ] = False,
    am: Annotated[
        bool,
        typer.Option("--am", help="The attentive mimicking model that ships for the bundled language model."),
    ] = False,
    model: Model = "default",
    contexts: Annotated[int | None, typer.Option(min=1, help="Use at most so many contexts a word.")] = None,
    scale: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Bring vectors to so many times the length embeddings have around their mean; 0 leaves "
            "those of am and am+context as they come. The model's own setting by default.",
        ),
    ] = None,
    pieces: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            help="Weight of what the model knows by a word's pieces, for words with contexts; the mimic "
            "model's own setting by default.",
        ),
    ] = None,
    approximations: Annotated[
        Path | None,
        typer.Option(help="Vectors made by `rarewords ota`, for the pieces; others are made when needed."),
    ] = None,
    cache: Annotated[bool, typer.Option(help="Keep what was read beside the store (STORE.readings).")] = True,
    workers: Annotated[int, typer.Option(min=1, help="Processes that read.")] = 1,
    engine: Annotated[str, typer.Option(help="What runs the workers: local or ray.")] = "local",
    address: Annotated[str | None, typer.Option(help="The address of a running Ray cluster.")] = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Make vectors for words from their contexts in a corpus and their spelling.

    By default the language model reads the contexts itself, with the matrix that ships for the bundled model
    or a learner given with `--mimic`. A word without contexts gets its vector from its spelling; a word that
    has neither is named and left out. With `--am` attentive mimicking makes them, less good and much faster.
    Vectors of the paper's presets are shorter than embeddings; with `--scale 1.4` they say more to the model.

    Example: `rarewords mimic infer --words rare.txt --corpus wiki.store --out rare.safetensors`
    """
    from contextlib import nullcontext

    from rarewords import LanguageModel, WordLearner, progress
    from rarewords.corpus.engine import engine_for
    from rarewords.corpus.store import Store
    from rarewords.errors import InputError
    from rarewords.mimic.files import bundled_mimic
    from rarewords.mimic.learner_files import is_learner
    from rarewords.mimic.mimicking import AttentiveMimicking, check_made_for
    from rarewords.mimic.reading_cache import beside
    from rarewords.vectors import open_vectors, read_words

    if [reading, am, mimic is not None].count(True) > 1:
        raise InputError("--reading, --am and --mimic each say what makes the vectors; use one of them")
    asked, store = read_words(words), Store.open(corpus)
    lm = LanguageModel.from_pretrained(model, device=device)
    mimic = bundled_mimic(lm.fingerprint) if am else mimic
    ready = None if approximations is None else open_vectors(approximations)
    check_made_for(lm, ready, "approximations")
    changes = {name: value for name, value in {"scale": scale, "pieces": pieces}.items() if value is not None}
    if mimic is not None and not is_learner(mimic):
        if workers > 1 or engine != "local":
            raise InputError("--workers and --engine are for readings; mimicking itself takes no time")
        trained = AttentiveMimicking.from_pretrained(mimic, lm)
        if 0 in (scale, pieces):  # without a length, or without pieces, there is nothing to add
            changes |= {"pieces": 0.0, "pieces_alone": 0.0}
        trained = trained.placed(**changes)
        trained.placing.approximations = ready
        done = trained.infer_words(asked, store, limit=contexts)
    else:
        learner = WordLearner(lm) if reading else WordLearner.for_model(lm, mimic)
        learner = learner.with_settings(**changes)
        learner.approximations = ready
        if cache:
            progress.message(f"What is read is kept in {beside(store.path)} (--no-cache to do without)")
        alone = workers == 1 and engine == "local"
        with nullcontext() if alone else engine_for(engine, workers, address) as runner:
            done = learner.infer_words(
                asked, store, limit=contexts, cache=beside(store.path) if cache else None, engine=runner
            )
    for word, reason in done.refused.items():
        typer.echo(f"{word}: {reason}", err=True)
    if not len(done.vectors):
        raise InputError(f"none of the {len(asked)} words could be given a vector")
    done.vectors.save(out)
    share = float(done.context_share.mean())
    if as_json:
        rows = zip(done.vectors.words, done.context_share.tolist(), done.contexts.tolist(), strict=True)
        shown = [{"word": word, "context_share": round(part, 3), "contexts": n} for word, part, n in rows]
        print_json({"file": str(out), "words": shown, "refused": done.refused})
        return
    made, left_out = len(done.vectors), len(done.refused)
    typer.echo(f"{out}: {made:,} words, {left_out} refused, {share:.0%} from contexts on average")


@app.command()
def refine(
    vectors: Annotated[
        Path, typer.Option(help="Vectors made by `rarewords mimic infer` or `rarewords ota`.")
    ],
    corpus: Corpus,
    out: Annotated[Path, typer.Option(help="The file of the refined vectors (.safetensors).")],
    model: Model = "default",
    contexts: Annotated[int, typer.Option(min=2, help="Use at most so many contexts a word.")] = 16,
    steps: Annotated[int, typer.Option(min=1, help="Gradient steps on the vectors.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Of every random choice.")] = 0,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Refine vectors on their words' sentences, so that the model predicts the words around them better.

    A quarter of a word's sentences only judges; a vector that does no better on them stays as it was. Words
    with fewer than four sentences stay as they are.

    Example: `rarewords mimic refine --vectors rare.safetensors --corpus wiki.store --out refined.safetensors`
    """
    import torch

    from rarewords import LanguageModel, WordVectors
    from rarewords.corpus.store import Store
    from rarewords.errors import InputError
    from rarewords.mimic.masked import contexts_of_words
    from rarewords.mimic.refine import RefineSettings
    from rarewords.mimic.refine import refine as refined_by
    from rarewords.vectors import open_vectors

    given, store = open_vectors(vectors), Store.open(corpus)
    lm = LanguageModel.from_pretrained(model, device=device)
    if given.dim != lm.dim:
        raise InputError(f"the vectors have size {given.dim}, but {model} takes vectors of size {lm.dim}")
    settings = RefineSettings(steps=steps, seed=seed)
    masked = contexts_of_words(lm.tokens, store, given.words, limit=contexts)
    done = refined_by(lm, masked, torch.from_numpy(given.matrix.copy()), settings)
    recipe = {**given.settings, "refined": {"steps": steps, "contexts": contexts, "seed": seed}}
    WordVectors(given.words, done.vectors.cpu().numpy(), recipe).save(out)
    judged = torch.isfinite(done.before)
    moved = int((done.after < done.before).sum())
    before, after = float(done.before[judged].mean()), float(done.after[judged].mean())
    if as_json:
        figures = {"judged": int(judged.sum()), "moved": moved, "before": before, "after": after}
        print_json({"file": str(out), "words": len(given.words), **figures})
        return
    typer.echo(
        f"{out}: {moved:,} of {len(given.words):,} words moved, "
        f"held-out loss {before:.3f} → {after:.3f} nats over {int(judged.sum()):,} words"
    )


def _fit_readings(
    corpus: Path,
    out: Path,
    model: str,
    min_count: int | None,
    contexts: int | None,
    seed: int,
    split: bool,
    device: str,
    as_json: bool,
) -> None:
    from rarewords import LanguageModel, WordLearner, progress
    from rarewords.corpus.store import Store
    from rarewords.mimic.reading_cache import beside

    lm = LanguageModel.from_pretrained(model, device=device)
    store = Store.open(corpus)
    kept = beside(store.path)
    progress.message(f"What is read is kept in {kept}; an interrupted run goes on from there")
    learner = WordLearner.fit(
        lm, store, min_count=min_count or 50, contexts=contexts or 16, seed=seed, split=split, cache=kept
    )
    learner.save_pretrained(out)
    if as_json:
        print_json({"folder": str(out), **learner.fitted})
    else:
        found = learner.fitted
        typer.echo(
            f"{out}: fitted on {found['words']:,} words, held-out cosine {found['held_out_cosine']:.3f}"
        )


def _epoch_line(report: dict[str, Any]) -> str:
    cosine = report["held_out_cosine"]
    watched = f", held-out cosine {cosine:.3f}" if cosine is not None else ""
    loss = f"epoch {report['epoch']}: loss {report['loss']:.5f}, {report['context_share']:.0%} from contexts"
    return f"{loss}{watched}, {report['examples_per_second']:,.0f} examples/s"

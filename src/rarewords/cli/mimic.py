"""``rarewords mimic``: train a mimic model, and make vectors with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rarewords.cli.mimic_train import Corpus, train
from rarewords.cli.options import AsJson, Device, Model, print_json

app = typer.Typer(no_args_is_help=True, help="Vectors for words from their sentences and their spelling.")

app.command()(train)


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

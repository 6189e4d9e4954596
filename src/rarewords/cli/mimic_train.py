"""``rarewords mimic train``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rarewords.cli.options import AsJson, Device, Model, print_json

Corpus = Annotated[Path, typer.Option("--corpus", help="A store made by `rarewords corpus build`.")]


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

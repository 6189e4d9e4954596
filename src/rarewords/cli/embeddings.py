"""Embeddings for words, step by step: ``rarewords corpus``, ``rarewords mimic`` and ``rarewords ota``."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords._internal.cache import Cache, require_free, workspace
from rarewords._internal.progress import message
from rarewords.cli import options
from rarewords.corpus.settings import CorpusSettings
from rarewords.embeddings import read_words
from rarewords.errors import InputError
from rarewords.learner.settings import LearnerSettings
from rarewords.mimic.settings import MimicSettings
from rarewords.mimic.settings import preset as settings_of
from rarewords.models import load_tokenizer
from rarewords.ota.settings import OtaSettings
from rarewords.tokens import Tokens

corpora = typer.Typer(no_args_is_help=True, help="Count the words of a text and sample sentences for each.")
mimic = typer.Typer(no_args_is_help=True, help="Embeddings for words, from their contexts and their spelling.")
_LOWER_CASE = "Lower-case text as this model does; by default always."
_WORD = "A word; without it, check the corpus and print a summary."
_TARGETS = "Embeddings of words of several subwords, made by `rarewords ota --preset paper`, to learn from as well."


@corpora.command("build")
def build_command(
    out: options.OutFolder,
    texts: options.Texts = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help=_LOWER_CASE)] = None,
    contexts: Annotated[int | None, options.number(help="Keep at most N contexts per word (1000).")] = None,
    settings: options.SettingsFile = None,
    set_: options.Set = None,
    field: options.Field = "text",
    workers: options.Workers = None,
) -> None:
    """Count the words of a text and sample their contexts.

    Example:

        rarewords corpus build wiki/*.txt --out wiki.corpus
    """
    lower_case = None if model is None else Tokens(load_tokenizer(model)).lower_case
    chosen = options.read_settings(CorpusSettings, settings, set_, contexts=contexts, lower_case=lower_case)
    corpus = rarewords.Corpus.build(options.paths(texts), out, CorpusSettings(**chosen), field=field, workers=workers)
    typer.echo(_summary(corpus))


@corpora.command("show")
def show_command(
    corpus: Annotated[Path, typer.Argument(help="A corpus.")],
    word: Annotated[str | None, typer.Argument(help=_WORD)] = None,
    contexts: Annotated[int, options.number(help="Print at most N contexts.")] = 10,
    as_json: options.Json = False,
) -> None:
    """Print how often a word occurs, and some of its contexts.

    Example:

        rarewords corpus show wiki.corpus kumquat
    """
    opened = rarewords.Corpus.open(corpus)
    if word is None:
        opened.check()
        about = {"settings": asdict(opened.settings), "totals": asdict(opened.totals)}
        options.show(as_json, about, _summary(opened))
        return
    found, count = opened.contexts(word, contexts), opened.count(word)
    lines = [f"  {text[:start]}[{text[start:end]}]{text[end:]}" for text, start, end in found]
    value = {"word": word, "count": count, "contexts": [one._asdict() for one in found]}
    options.show(as_json, value, f"{word}: {count:,} times", *lines)


def _summary(corpus: Any) -> str:
    totals, header = corpus.totals, corpus.header
    size = sum(file.stat().st_size for file in corpus.path.iterdir())
    return (
        f"{corpus.path}: {totals.words:,} words ({len(corpus):,} distinct) in {totals.sentences:,} sentences, "
        f"{header.contexts:,} contexts from {header.sentences:,} sentences, {size / 1e6:,.1f} MB"
        + (f"\n{totals.replaced:,} characters were not UTF-8 and were replaced" if totals.replaced else "")
    )


@mimic.command()
def fit(
    corpus: options.CorpusPath,
    out: options.OutFolder,
    model: options.Model = "default",
    contexts: Annotated[int, options.number(help="Read at most N contexts per word.")] = 16,
    min_count: Annotated[int, options.number(help="Learn from words that occur N times.")] = 50,
    settings: options.SettingsFile = None,
    set_: options.Set = None,
    device: options.Device = "auto",
) -> None:
    """Fit a learner: one matrix, in closed form, on words the model knows.

    The matrix brings what the model expects in the place of a known word to the word's embedding. `--settings`
    and `--set` take the fields of LearnerSettings. An interrupted run resumes where it stopped.

    Example:

        rarewords mimic fit --model M --corpus wiki.corpus --out learner
    """
    require_free(out)
    chosen = LearnerSettings(**options.read_settings(LearnerSettings, settings, set_))
    opened, readings = rarewords.Corpus.open(corpus), _readings_beside(corpus)
    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    learner = rarewords.WordLearner.fit(lm, opened, chosen, contexts=contexts, min_count=min_count, cache=readings)
    learner.save_pretrained(out)
    words, cosine = learner.fitted["words"], learner.fitted["held_out_cosine"]
    typer.echo(f"{out}: fitted on {words:,} words, held-out cosine {cosine:.3f}")


@mimic.command()
def infer(
    words: options.WordsFile,
    corpus: options.CorpusPath,
    out: options.OutFile,
    learner: options.Learner = None,
    model: options.Model = "default",
    contexts: Annotated[int | None, options.number(help="Use at most N contexts per word.")] = None,
    settings: options.SettingsFile = None,
    set_: options.Set = None,
    device: options.Device = "auto",
) -> None:
    """Infer embeddings for words from their contexts in a corpus and their spelling.

    A word without contexts gets its embedding from its spelling; a word that also resembles no known word is
    skipped. `--settings` and `--set` change fields of LearnerSettings. With `--learner am`, or a folder made by
    `mimic train`, attentive mimicking infers the embeddings, which is less accurate but much faster.

    Example:

        rarewords mimic infer --words rare.txt --corpus wiki.corpus --out rare.safetensors
    """
    changes = options.read_settings(LearnerSettings, settings, set_)
    asked, read = read_words(words), rarewords.Corpus.open(corpus)

    from rarewords.teaching.learners import open_learner  # loads torch; mistakes need not wait for it

    opened, _ = open_learner(rarewords.LanguageModel.from_pretrained(model, device=device), learner)
    if isinstance(opened, rarewords.WordLearner):
        changed, cache = opened.with_settings(**changes), _readings_beside(corpus)
        done = changed.learn_words(asked, read, contexts=contexts, cache=cache)
    elif changes:
        raise InputError("--settings and --set have no effect on attentive mimicking", code="usage")
    else:
        assert isinstance(opened, rarewords.AttentiveMimicking)
        done = opened.learn_words(asked, read, contexts=contexts)
    options.save_embeddings(out, done.embeddings, done.skipped)
    share = f"{float(done.context_share.mean()):.0%} from contexts on average"
    typer.echo(f"{out}: {len(done.embeddings):,} words, {len(done.skipped)} skipped, {share}")


def _readings_beside(corpus: Path) -> Cache:
    path = corpus.resolve()
    cache = Cache(path.with_name(path.name + ".readings"))
    message(f"Readings are kept in {cache.path}; the same command resumes from there")
    return cache


@mimic.command()
def train(
    corpus: options.CorpusPath,
    out: options.OutFolder,
    targets: Annotated[Path | None, typer.Option(help=_TARGETS)] = None,
    model: options.Model = "default",
    preset: Annotated[str, typer.Option(help="The paper's `am` or `am+context`.")] = "am+context",
    settings: options.SettingsFile = None,
    set_: options.Set = None,
    device: options.Device = "auto",
) -> None:
    """Train an attentive mimicking model on a corpus.

    The model learns to predict the embedding of a word from its spelling and its contexts. `--settings` and
    `--set` take the fields of MimicSettings, such as `epochs`. An interrupted training resumes with the same
    command.

    Example:

        rarewords mimic train --corpus wiki.corpus --targets ota.safetensors --out mimic
    """
    chosen = settings_of(preset, **options.read_settings(MimicSettings, settings, set_))
    require_free(out)
    opened = rarewords.Corpus.open(corpus)
    embeddings = None if targets is None else rarewords.WordEmbeddings.load(targets)
    if embeddings is None:
        message("No --targets: learning from words of one subword only")
    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    with workspace(out) as cache:
        fitted = rarewords.AttentiveMimicking.fit(
            lm, opened, embeddings, chosen, work=cache.path, after_epoch=lambda report, _: message(_line(report))
        )
        fitted.save_pretrained(out)
    typer.echo(f"{out}: trained, {_line(fitted.history[-1])}")


def _line(report: Any) -> str:
    cosine = "" if report.held_out_cosine is None else f", held-out cosine {report.held_out_cosine:.3f}"
    loss = f"epoch {report.epoch}: loss {report.loss:.5f}, {report.context_share:.0%} from contexts"
    return f"{loss}{cosine}, {report.examples_per_second:,.0f} examples/s"


def ota(
    words: options.WordsFile,
    out: options.OutFile,
    model: options.Model = "default",
    preset: Annotated[str, typer.Option(help="`fast`, or `paper` with 4,000 steps.")] = "fast",
    steps: Annotated[int | None, typer.Option(min=1, help="Number of steps (`fast` 100, `paper` 4000).")] = None,
    settings: options.SettingsFile = None,
    set_: options.Set = None,
    device: options.Device = "auto",
) -> None:
    """Compute one embedding for each word of several subwords, which acts in the model as its subwords do.

    Finished words are kept beside the output: after an interruption the same command resumes. `--settings`
    and `--set` take the fields of OtaSettings: frame, start, layers, rate, seed, ...

    Example:

        rarewords ota --words rare.txt --out rare.safetensors
    """
    chosen = OtaSettings.preset(preset, **options.read_settings(OtaSettings, settings, set_, steps=steps))
    listed = read_words(words)

    import torch  # takes seconds; mistakes in the options need not wait for it

    torch.set_float32_matmul_precision("high")  # TF32 on a GPU
    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    with workspace(out) as cache:
        result = rarewords.one_token_approximation(lm, listed, chosen, cache=cache)
        options.save_embeddings(out, result.embeddings, result.skipped)
    typer.echo(f"{out}: {len(result.embeddings):,} embeddings, {len(result.skipped):,} words skipped")

"""``rarewords scan``: which words of a text does the model lack?"""

from dataclasses import asdict
from pathlib import Path

import typer

from rarewords.cli import options

_ON_SCREEN = 20


def scan(
    texts: list[str] | None = None,
    text: list[str] | None = None,
    model: str = "default",
    rule: str = "english",
    min_count: int = 1,
    top: int | None = None,
    ask: int = 20,
    phrases: bool = False,
    out: Path | None = None,
    field: str = "text",
    workers: int | None = None,
    device: str = "auto",
    as_json: bool = False,
) -> None:
    """Find the words of a text that the model splits into pieces, those that would gain most first.

    Parts of addresses, markup, repeated lines and inflections of known words are passed over. The model is
    asked what the first words mean to it now; their need says how far that is from what the text says.

    Example: `rarewords scan reports/*.txt --out words.txt`
    """
    # Imported here, as in every command: numpy and what builds on it would slow down --help.
    from rarewords.files import whole_file
    from rarewords.teaching.clutter import summary
    from rarewords.teaching.scan import scan as scan_text

    everything = as_json or out is not None
    found = scan_text(
        options.all_texts(texts, text),
        model,
        rule=rule,  # type: ignore[arg-type]  # checked with the settings
        min_count=min_count,
        top=top if top or everything else _ON_SCREEN,
        ask=ask,
        phrases=phrases,
        device=device,
        field=field,
        workers=workers,
    )
    if out is not None:
        # A word that loses nothing gains nothing from teaching.
        lines = [f"{word.word}\t{word.count}\n" for word in found.missing if word.gain > 0]
        lines += [f"{phrase}\t{count}\n" for phrase, count in found.phrases.items()]
        with whole_file(out) as temporary:
            temporary.write_text("".join(lines), "utf-8")
    if as_json:
        missing = [{**asdict(word), "gain": round(word.gain, 2)} for word in found.missing]
        options.show(True, {**asdict(found), "missing": missing})
        return
    share = 100 * found.missing_occurrences / found.occurrences
    typer.echo(
        f"{found.missing_words:,} of {found.words:,} words are not one piece for {found.model}; "
        f"they are {share:.1f} % of the text"
    )
    if min_count > 1:
        typer.echo(f"Of these, words that occur {min_count:,} times or more: {found.frequent_words:,}")
    if found.left_out:
        typer.echo(f"Words that --rule {rule} leaves out: {found.left_out:,} (--rule any counts them)")
    for line in summary(found.passed_over):
        typer.echo(f"Passed over: {line}")
    shown = found.missing[: top or _ON_SCREEN]
    width = max([4, *(len(word.word) for word in shown)])
    if shown:
        typer.echo(f"{'word':<{width}}  {'count':>9}  {'need':>4}  {'answers now':<36}  pieces")
    for word in shown:
        need = "" if word.need is None else f"{word.need:.2f}"
        answers, pieces = ", ".join(word.answers), " ".join(word.pieces)
        typer.echo(f"{word.word:<{width}}  {word.count:>9,}  {need:>4}  {answers:<36}  {pieces}")
    if phrases:
        names = ", ".join(f"{phrase} ({count:,})" for phrase, count in found.phrases.items())
        typer.echo(f"Fixed phrases: {names or 'none'}")

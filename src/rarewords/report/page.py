"""A page of examples: words, the queries put to a model, and the answers of two results side by side."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from rarewords.errors import InputError
from rarewords.files import whole_file
from rarewords.probe.answers import AnsweredQuery
from rarewords.report.tables import relation_title

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 Georgia, serif; color: #1c1c1c; background: #fdfcfa;
  margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }}
h1 {{ font-size: 1.5rem; font-weight: normal; }}
h2 {{ font-size: 1.15rem; margin: 2.2rem 0 .3rem; }}
h2 small {{ color: #6b6b6b; font-weight: normal; }}
table {{ border-collapse: collapse; width: 100%; table-layout: fixed; }}
th, td {{ text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0;
  border-top: 1px solid #e4dfd6; }}
th {{ font-weight: normal; color: #6b6b6b; border-top: 0; }}
.rank {{ color: #6b6b6b; white-space: nowrap; }}
.hit {{ font-weight: bold; color: #0b5d3b; }}
.targets {{ color: #6b6b6b; margin: 0 0 .4rem; }}
@media (prefers-color-scheme: dark) {{
  body {{ background: #16181b; color: #e6e3dd; }} th, .rank, h2 small, .targets {{ color: #9a978f; }}
  th, td {{ border-color: #33363b; }} .hit {{ color: #7fd6ac; }} }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>Each row is one question; the answers are the model's first {shown}, best first.
<span class="hit">Bold</span> answers are targets of the data set; the rank is that of the first one.</p>
{body}
</body>
</html>
"""


def examples_page(
    first: Sequence[AnsweredQuery],
    second: Sequence[AnsweredQuery],
    labels: tuple[str, str],
    *,
    words: Sequence[str],
    shown: int = 10,
) -> str:
    """The page as HTML that needs nothing but itself.

    Of each entry the pattern with the best rank in either result is shown, as the evaluation scores it.
    """
    sections = []
    for word in words:
        entries = sorted({one.id for one in first if one.word == word}, key=lambda one: (len(one), one))
        if not entries:
            raise InputError(f"{word!r} was not asked in {labels[0]!r}; choose a keyword of the data set")
        sections += [_section(entry, first, second, labels, shown) for entry in entries]
    title = f"{escape(labels[0])} and {escape(labels[1])} on WNLaMPro"
    return _PAGE.format(title=title, shown=shown, body="\n".join(sections))


def write_page(path: str | Path, html: str) -> None:
    """Write a page, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(html, "utf-8")


def _section(
    entry: str,
    first: Sequence[AnsweredQuery],
    second: Sequence[AnsweredQuery],
    labels: tuple[str, str],
    shown: int,
) -> str:
    left = [one for one in first if one.id == entry]
    right = {one.pattern: one for one in second if one.id == entry}
    pairs = [(one, right[one.pattern]) for one in left if one.pattern in right]
    if len(pairs) != len(left):
        raise InputError(f"{labels[0]!r} and {labels[1]!r} were asked different questions")
    chosen = {_best([pair[side] for pair in pairs]).pattern for side in (0, 1)}
    rows = [
        f"<tr><td>{_question(a)}</td><td>{_answers(a, shown)}</td><td>{_answers(b, shown)}</td></tr>"
        for a, b in pairs
        if a.pattern in chosen
    ]
    one = left[0]
    head = "".join(f"<th>{escape(text)}</th>" for text in ("question", *labels))
    return (
        f"<h2>{escape(one.word)} <small>{escape(relation_title(one.relation))}</small></h2>\n"
        f'<p class="targets">targets: {escape(", ".join(one.targets))}</p>\n'
        f"<table><tr>{head}</tr>\n" + "\n".join(rows) + "\n</table>"
    )


def _best(asked: Sequence[AnsweredQuery]) -> AnsweredQuery:
    return min(asked, key=lambda one: one.rank or 10**9)


def _question(one: AnsweredQuery) -> str:
    return escape(one.pattern).replace("&lt;W&gt;", f"<em>{escape(one.word)}</em>")


def _answers(one: AnsweredQuery, shown: int) -> str:
    targets = set(one.targets)
    words = ", ".join(
        f'<span class="hit">{escape(answer)}</span>' if answer in targets else escape(answer)
        for answer in one.answers[:shown]
    )
    return f'{words} <span class="rank">(rank {one.rank or "–"})</span>'

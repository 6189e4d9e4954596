"""The report as one HTML page that needs nothing but itself."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from itertools import groupby

from rarewords.reproduction.claims import IN_PART, NOT_SEEN, SEEN, UNTESTED, Claim
from rarewords.reproduction.document import Answers, Block, Figure, Points, Section, Table, Text

_PAPERS = re.compile(r"^paper\b|, paper$")  # names of columns
_MANY_COLUMNS = 10  # more of them are set in smaller type
_CLASSES = {SEEN: "seen", IN_PART: "part", NOT_SEEN: "not", UNTESTED: "untested"}


def page(
    title: str,
    summary: Sequence[str],
    claims: Sequence[Claim],
    sections: Sequence[Section],
    about: Sequence[Section],
    banner: str,
) -> str:
    """The whole page.

    :param about: sections on inputs and costs, without conclusions.
    :param banner: shown on top, where there is something to warn of.
    """
    everything = [*sections, *about]
    style = (files("rarewords") / "reproduction" / "page.css").read_text("utf-8")
    links = "".join(
        f"<li{' class=beyond' if section.beyond else ''}>"
        f'<a href="#{section.name}">{escape(section.title)}</a></li>'
        for section in everything
    )
    shown = [text for text in summary if not (banner and banner in text)]
    parts = [
        f'<div class="banner"><strong>A sample.</strong> {escape(banner)}</div>' if banner else "",
        f"<h1>{escape(title)}</h1>",
        *(f'<p class="lead">{_inline(text)}</p>' for text in shown),
        _overview(claims),
        *(_section(section) for section in everything),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<nav><p>Contents</p><ul><li><a href="#conclusions">Conclusions</a></li>{links}</ul></nav>\n'
        f"<main>\n{chr(10).join(part for part in parts if part)}\n</main>\n</body>\n</html>\n"
    )


def _overview(claims: Sequence[Claim]) -> str:
    rows = "".join(
        f'<tr><td>{_pill(claim)}</td><td><a href="#{claim.part}">{escape(claim.statement)}</a></td>'
        f"<td>{escape(claim.published)}</td><td>{escape(_evidence(claim))}</td></tr>"
        for claim in claims
    )
    if not rows:
        return ""
    return (
        '<section id="conclusions"><h2>The paper’s conclusions</h2><div class="scroll"><table class="claims">'
        "<thead><tr><th>here</th><th>conclusion</th><th>the paper</th><th>ours</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div></section>"
    )


def _evidence(claim: Claim) -> str:
    if len(claim.checks) == 1:
        return claim.checks[0].text
    held = sum(check.holds for check in claim.checks)
    first = (
        next((check for check in claim.checks if not check.holds), claim.checks[0]) if claim.checks else None
    )
    if first is None:
        return "no entries to test it on"
    kind = "for example" if first.holds else "but not"
    return f"{held} of {len(claim.checks)} hold; {kind} {first.text}"


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    if section.beyond:
        parts.append('<p class="kicker">Beyond the paper</p>')
    for together, blocks in groupby(section.blocks, key=lambda block: isinstance(block, Answers)):
        shown = "\n".join(_block(block) for block in blocks)
        parts.append(f'<div class="queries">{shown}</div>' if together else shown)
    if section.claims:
        parts.append("<h3>The paper’s conclusions</h3>")
        parts += [_claim(claim) for claim in section.claims]
    if section.reasons:
        items = "".join(f"<li>{_inline(reason)}</li>" for reason in section.reasons)
        title = "In short" if section.beyond else "Where and why ours differs"
        parts.append(f"<aside><h3>{title}</h3><ul>{items}</ul></aside>")
    if section.command:
        parts.append(f'<p class="command"><code>{escape(section.command)}</code></p>')
    kind = ' class="beyond"' if section.beyond else ""
    return f'<section id="{section.name}"{kind}>\n' + "\n".join(parts) + "\n</section>"


def _claim(claim: Claim) -> str:
    checks = "".join(
        f'<li class="{"yes" if check.holds else "no"}">{escape(check.text)}</li>' for check in claim.checks
    )
    return (
        f'<div class="claim">{_pill(claim)}<div><p>{escape(claim.statement)}</p>'
        f'<p class="source">Paper, {escape(claim.source)}: {escape(claim.published)}</p>'
        f"<ul>{checks}</ul></div></div>"
    )


def _pill(claim: Claim) -> str:
    return f'<span class="pill {_CLASSES[claim.verdict]}">{claim.verdict}</span>'


def _block(block: Block) -> str:
    if isinstance(block, Text):
        return f"<p>{_inline(block.text)}</p>"
    if isinstance(block, Points):
        return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in block.items) + "</ul>"
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Figure):
        # As a picture, not as elements of the page: identifiers inside two drawings may be the same.
        raw = block.path.with_name(block.path.name + ".svg").read_bytes()
        source = f"data:image/svg+xml;base64,{base64.b64encode(raw).decode()}"
        return (
            f'<figure><img alt="{escape(block.alt)}" src="{source}">'
            f"<figcaption>{_inline(block.caption)}</figcaption></figure>"
        )
    return _answers(block)


def _table(table: Table) -> str:
    # Columns of numbers; those that are the paper's look like its rows.
    kinds = [
        "" if place < table.left else ' class="n theirs"' if _PAPERS.search(name) else ' class="n"'
        for place, name in enumerate(table.header)
    ]
    head = "".join(f"<th{kind}>{escape(name)}</th>" for kind, name in zip(kinds, table.header, strict=True))
    over = "".join(
        f'<th{" class=over" if title else ""} colspan="{columns}">{escape(title)}</th>'
        for title, columns in table.over
    )
    rows, before = [], ""
    for number, row in enumerate(table.rows):
        names = [
            name for name, rule in (("paper", table.published), ("group", table.groups)) if number in rule
        ]
        # A group names its relation once.
        shown = [
            "" if table.groups and not place and row[0] == before else _cell(cell)
            for place, cell in enumerate(row)
        ]
        before = row[0]
        cells = "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds, shown, strict=True))
        rows.append(f'<tr class="{" ".join(names)}">{cells}</tr>' if names else f"<tr>{cells}</tr>")
    wide = " wide" if len(table.header) > _MANY_COLUMNS else ""
    return (
        f'<div class="scroll{wide}"><table><caption>{_inline(table.caption)}</caption>'
        f"<thead>{f'<tr>{over}</tr>' if over else ''}<tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(text: str) -> str:
    found = re.fullmatch(r"(\*\*)?(.*?)(?:\*\*)?(\*)?", text)
    assert found is not None
    bold, inner, star = found.groups()
    inner = escape(inner)
    return (f"<b>{inner}</b>" if bold else inner) + ("<sup>*</sup>" if star else "")


def _answers(block: Answers) -> str:
    rows = "".join(
        f"<tr{' class=paper' if paper else ''}><th>{escape(who)}</th><td>"
        + ", ".join(f"<mark>{escape(one)}</mark>" if one in right else escape(one) for one in answers)
        + "</td></tr>"
        for who, answers, right, paper in block.rows
    )
    return (
        f'<div class="query"><p>{escape(block.question)} <small>{escape(block.about)}</small></p>'
        f"<table>{rows}</table></div>"
    )


def _inline(text: str) -> str:
    marked = escape(text, quote=False)
    marked = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", marked)
    marked = re.sub(r"`(.+?)`", r"<code>\1</code>", marked)
    return re.sub(r"(?<![*\w])\*(\w[^*]*?)\*(?!\w)", r"<em>\1</em>", marked)

"""The site: every page of ``docs`` as HTML, with one style sheet and nothing from other servers."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

STYLE = Path(__file__).with_name("site.css")
# The order of the sidebar; pages not named here come last, under "More".
SECTIONS = {
    "Start": ["docs/index.md", "docs/tutorial.md"],
    "How to": [
        "docs/howto/own-model.md",
        "docs/howto/retrieval.md",
        "docs/howto/causal.md",
        "docs/howto/many-words.md",
        "docs/howto/fine-tuning.md",
        "docs/howto/search.md",
        "docs/howto/cluster.md",
        "docs/howto/probing.md",
    ],
    "Understand": ["docs/concepts.md", "docs/beyond.md", "docs/paper.md"],
    "Guides": [
        "docs/teach.md",
        "docs/corpus.md",
        "docs/ota.md",
        "docs/mimic.md",
        "docs/wnlampro.md",
        "docs/reproduce.md",
        "docs/serve.md",
    ],
    "Reference": [
        "docs/reference/commands.md",
        "docs/reference/api.md",
        "docs/architecture.md",
        "docs/dependencies.md",
    ],
}


@dataclass(frozen=True)
class Page:
    """A page of Markdown: its source in the repository, its target in the site, and its title."""

    source: Path
    target: Path
    title: str


def build_site(root: Path, site: Path) -> list[Page]:
    """Write the site, replacing an older one, and return its pages."""
    pages = _pages(root)
    if site.exists():
        shutil.rmtree(site)
    site.mkdir(parents=True)
    parser = markdown_parser()
    copied: set[Path] = set()
    for page in pages:
        tokens = parser.parse((root / page.source).read_text("utf-8"))
        _set_anchors(tokens)
        copied |= _rewrite_links(tokens, page, pages, root)
        body = parser.renderer.render(tokens, parser.options, {})
        target = site / page.target
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_frame(page, pages, _with_scrolling_tables(body), tokens), "utf-8")
    for file in sorted(copied):
        target = site / _place(file)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / file, target)
    formatter: Any = HtmlFormatter(style="friendly")
    colours = formatter.get_style_defs(".code")
    dark: Any = HtmlFormatter(style="github-dark")
    shaded = f"@media (prefers-color-scheme: dark) {{\n{dark.get_style_defs('.code')}\n}}"
    text = "\n".join([colours, shaded, STYLE.read_text("utf-8")])
    (site / "site.css").write_text(text, "utf-8")
    return pages


def markdown_parser() -> MarkdownIt:
    """Markdown as GitHub reads it: tables, highlighted code, formulas between dollar signs."""
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlight}).enable(
        ["table", "strikethrough"]
    )
    return parser.use(dollarmath_plugin, allow_space=False, double_inline=True, renderer=_formula)


def slug(title: str, seen: set[str] | None = None) -> str:
    """The anchor that GitHub gives to a heading; a repeated one gets a number.

    >>> slug("What is `kept`, and why?")
    'what-is-kept-and-why'
    """
    text = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
    if seen is None:
        return text
    anchor, number = text, 0
    while anchor in seen:
        number += 1
        anchor = f"{text}-{number}"
    seen.add(anchor)
    return anchor


def heading_anchors(text: str) -> set[str]:
    """All anchors of a page of Markdown."""
    tokens = markdown_parser().parse(text)
    _set_anchors(tokens)
    return {str(token.attrs["id"]) for token in tokens if token.type == "heading_open"}


def _pages(root: Path) -> list[Page]:
    listed = [Path(name) for names in SECTIONS.values() for name in names if (root / name).exists()]
    others = [path.relative_to(root) for path in sorted((root / "docs").rglob("*.md"))]
    cards = [path.relative_to(root) for path in sorted((root / "src/rarewords/assets").glob("*/README.md"))]
    sources = list(dict.fromkeys([*listed, *others, *cards]))
    return [Page(source, _place(source).with_suffix(".html"), _title(root / source)) for source in sources]


def _place(source: Path) -> Path:
    """The place of a repository file in the site."""
    if source.is_relative_to("docs"):
        return source.relative_to("docs")
    return Path("cards") / source.relative_to("src/rarewords/assets")


def _title(path: Path) -> str:
    found = re.search(r"^# (.+)$", path.read_text("utf-8"), re.M)
    return re.sub(r"[`*]", "", found.group(1)) if found else path.stem


def _set_anchors(tokens: Sequence[Token]) -> None:
    seen: set[str] = set()
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", slug(_text(tokens[place + 1]), seen))


def _text(token: Token) -> str:
    return "".join(child.content for child in token.children or [] if child.type != "softbreak")


def _rewrite_links(tokens: Sequence[Token], page: Page, pages: Sequence[Page], root: Path) -> set[Path]:
    """Point links at the pages of the site, and return the files to copy into it."""
    targets = {one.source: one.target for one in pages}
    copied: set[Path] = set()
    for token in [child for one in tokens for child in one.children or []]:
        name = {"link_open": "href", "image": "src"}.get(token.type)
        link = str(token.attrs.get(name, "")) if name else ""
        parts = urlsplit(link)
        if not name or parts.scheme or not parts.path:
            continue
        file = (root / page.source.parent / parts.path).resolve()
        if not file.exists() or not file.is_relative_to(root.resolve()):
            continue  # the link check reports it
        source = file.relative_to(root.resolve())
        if source not in targets and not source.is_relative_to("docs"):
            continue
        if source not in targets:
            copied |= {one.relative_to(root.resolve()) for one in _files(file)}
        target = targets.get(source) or _place(source)
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        token.attrSet(name, _relative(target, page.target) + fragment)
    return copied


def _files(path: Path) -> list[Path]:
    return [one for one in path.rglob("*") if one.is_file()] if path.is_dir() else [path]


def _relative(target: Path, page: Path) -> str:
    return "../" * (len(page.parts) - 1) + target.as_posix()


def _formula(content: str, options: dict[str, Any]) -> str:
    return convert(content, display="block" if options["display_mode"] else "inline")


def _highlight(code: str, language: str, _: str) -> str:
    lexer = get_lexer_by_name(language or "text")
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


def _with_scrolling_tables(body: str) -> str:
    body = body.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
    return body.replace("<pre><code", '<pre class="code" tabindex="0"><code')


def _frame(page: Page, pages: Sequence[Page], body: str, tokens: Sequence[Token]) -> str:
    style, home = (_relative(Path(name), page.target) for name in ("site.css", "index.html"))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(page.title)} · rarewords</title>
<link rel="stylesheet" href="{style}">
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header><a href="{home}">rarewords</a> <a href="#pages">All pages</a></header>
<nav id="pages" aria-label="Pages">
<a class="home" href="{home}">rarewords</a>
{_sidebar(page, pages)}
</nav>
<main id="main">
{body}
</main>
{_outline(tokens)}
</body>
</html>
"""


def _sidebar(page: Page, pages: Sequence[Page]) -> str:
    by_source = {one.source.as_posix(): one for one in pages}
    sections = {title: [name for name in names if name in by_source] for title, names in SECTIONS.items()}
    named = {name for names in sections.values() for name in names}
    sections["Measured"] = [name for name in by_source if name.startswith("docs/results/")]
    sections["Cards"] = [name for name in by_source if name.startswith("src/")]
    sections["More"] = [
        name for name in by_source if name not in named and not name.startswith(("docs/results/", "src/"))
    ]
    parts = []
    for title, names in sections.items():
        items = []
        for name in names:
            one = by_source[name]
            here = ' aria-current="page"' if one == page else ""
            shown = html.escape(_short_title(one))
            items.append(f'<li><a href="{_relative(one.target, page.target)}"{here}>{shown}</a></li>')
        if items:
            parts.append(f"<h2>{title}</h2>\n<ul>\n" + "\n".join(items) + "\n</ul>")
    return "\n".join(parts)


def _short_title(page: Page) -> str:
    """The title up to its first colon or comma, without "How to": the sidebar is narrow."""
    if page.source == Path("docs/index.md"):
        return "Overview"
    if page.source.name == "README.md" and page.source.parts[0] == "src":
        return page.source.parent.name
    if page.source.is_relative_to("docs/results"):
        return page.source.stem
    short = re.split(r"[:,]", page.title)[0].removeprefix("How to ")
    return short[0].upper() + short[1:]


def _outline(tokens: Sequence[Token]) -> str:
    """The headings of a page, shown beside it."""
    found = [
        (str(token.attrs["id"]), _text(tokens[place + 1]))
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    ]
    if len(found) < 3:
        return ""
    items = "\n".join(f'<li><a href="#{anchor}">{html.escape(text)}</a></li>' for anchor, text in found)
    return f'<aside aria-label="On this page">\n<h2>On this page</h2>\n<ul>\n{items}\n</ul>\n</aside>'

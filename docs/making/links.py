"""Broken links of a built site, including those to anchors."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class _Found(HTMLParser):
    """The links, pictures and anchors of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del tag
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name == "id" and value:
                self.anchors.append(value)


def broken_links(site: Path) -> list[str]:
    """One line per link to a missing file, to a missing anchor, or to a file outside the site."""
    pages = {page.resolve(): _read(page) for page in sorted(site.rglob("*.html"))}
    broken = []
    for page, found in pages.items():
        name = page.relative_to(site.resolve())
        repeated = {one for one in found.anchors if found.anchors.count(one) > 1}
        broken += [f"{name}: the anchor {one} occurs twice" for one in sorted(repeated)]
        broken += [
            f"{name}: {link}"
            for link in found.links
            if not _leads_somewhere(link, page, pages, site.resolve())
        ]
    return broken


def _read(page: Path) -> _Found:
    found = _Found()
    found.feed(page.read_text("utf-8"))
    return found


def _leads_somewhere(link: str, page: Path, pages: dict[Path, _Found], site: Path) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:  # outside the site; a test must not need a network
        return parts.scheme in ("https", "http", "mailto", "data")  # data: the picture is in the link
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.exists() or not target.is_relative_to(site):
        return False
    return not parts.fragment or (target in pages and unquote(parts.fragment) in pages[target].anchors)

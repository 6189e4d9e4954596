"""Build the documents: ``python -m docs.build`` in the root of the repository, or ``make docs``.

Writes the reference to ``docs/reference`` (committed; a test compares it with the code) and the site to
``site`` (not committed), then checks every link of the site.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from docs.making.api import api_page
from docs.making.commands import commands_page

ROOT = Path(__file__).resolve().parent.parent
REFERENCE = {"commands.md": commands_page, "api.md": api_page}


def write_reference(folder: Path) -> None:
    """Write the pages that are generated from the code."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in REFERENCE.items():
        (folder / name).write_text(make(), "utf-8")


def main() -> int:
    """Build everything; the exit code is 1 if a link is broken."""
    parser = argparse.ArgumentParser(description="Build the documents.")
    parser.add_argument("--site", type=Path, default=ROOT / "site", help="The folder of the site.")
    parser.add_argument("--reference-only", action="store_true", help="Only write docs/reference.")
    options = parser.parse_args()
    write_reference(ROOT / "docs" / "reference")
    if options.reference_only:
        return 0
    from docs.making.links import broken_links
    from docs.making.site import build_site

    pages = build_site(ROOT, options.site)
    broken = broken_links(options.site)
    for line in broken:
        print(line, file=sys.stderr)
    print(f"{options.site / 'index.html'}: {len(pages)} pages, {len(broken)} broken links")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

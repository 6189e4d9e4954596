"""The report as Markdown and as one page."""

import json
import re

from rarewords.paper.report import page
from rarewords.paper.run import PARTS


def test_the_page_needs_nothing_but_itself_and_says_it_is_a_sample(done):
    folder, found = done
    html = found.report.read_text("utf-8")
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", html)
    assert "@import" not in html
    assert "url(" not in html
    assert "This is a run of the sample" in html
    for part in PARTS.values():
        assert f">{part.title}</h2>" in html
    for link in re.findall('href="#([^"]+)"', html):
        assert f'id="{link}"' in html
    figures = sorted(path.name for path in (folder / "figures").iterdir())
    assert figures == ["heatmap.svg", "methods.svg", "ota.svg"]
    assert html.count("data:image/svg+xml;base64,") == len(figures)


def test_the_report_has_what_a_reader_needs(done):
    folder, found = done
    text = (folder / "report.md").read_text("utf-8")
    for needed in (
        "## The paper's conclusions",
        "### Where and why ours differs",
        "## Inputs, settings and environment",
        "## What it cost",
        "| Probing with OTA ",
        "Repeat: `rarewords reproduce ",
        "Means of 2 seeds",
        "paper: base+AM",
        "(figures/heatmap.svg)",
    ):
        assert needed in text, needed
    for claim in found.claims:
        assert f"- **{claim.verdict}** {claim.statement}" in text
        assert f"Test: {claim.test}." in text
    stored = json.loads((folder / "results" / "claims.json").read_text())
    assert [one["verdict"] for one in stored] == [claim.verdict for claim in found.claims]


def test_verdicts_and_the_papers_rows_are_marked_and_text_is_escaped(tmp_path):
    text = "\n".join(
        [
            "## A & <b>",
            "",
            "| r | model |",
            "|---|---|",
            "| x | paper: base |",
            "| y | AM |",
            "",
            "- **not seen** no",
        ]
    )
    html = page(text, tmp_path)
    assert '<tr class="paper">\n<td>x</td>' in html
    assert html.count('class="paper"') == 1
    assert '<span class="pill not">not seen</span> no' in html
    assert "A &amp; " in html

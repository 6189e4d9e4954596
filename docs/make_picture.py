"""Draw ``docs/images/before-after.svg`` from a real run: ``python docs/make_picture.py``, ten seconds on a CPU.

The bundled model gets recent words, each from the definition in the picture.
"""

import textwrap
from html import escape
from pathlib import Path

from rarewords import LanguageModel, TeachResult, TeachSettings, teach

PICTURE = Path(__file__).parent / "images" / "before-after.svg"
GLOSSARY = {
    "paxlovid": "an oral antiviral pill used to treat COVID-19",
    "mpox": "a contagious viral disease with a rash and fever",
    "ozempic": "an injected drug against diabetes",
    "kombucha": "a fermented drink made from sweet tea",
    "doomscrolling": "the habit of reading bad news on a phone for hours",
    "vegemite": "a dark salty spread for bread",
}
_TITLE = "One definition per word: what the model answers before and after"
_WIDTH, _TOP, _ROW = 1000, 96, 58
_COLUMNS = (28, 214, 498, 718)


def main() -> None:
    """Teach, then draw."""
    lm = LanguageModel.from_pretrained(device="cpu")
    settings = TeachSettings(question="a <W> is a kind of _.")
    PICTURE.write_text(draw(teach(lm, glossary=GLOSSARY, settings=settings), lm), "utf-8")


def draw(result: TeachResult, lm: LanguageModel) -> str:
    """The picture, with its own background, so that it is readable on light and dark pages."""
    reports = {one.word: one for one in result.words}
    rows = [_row(_TOP + row * _ROW, word, reports[word], lm) for row, word in enumerate(GLOSSARY)]
    height = _TOP + len(rows) * _ROW + 34
    headings = ("word and its subwords", "definition", "before", "after")
    head = "".join(
        f'<text x="{x}" y="70" class="quiet">{name}</text>' for x, name in zip(_COLUMNS, headings, strict=True)
    )
    note = f"Answers of {escape(result.base)} to “a … is a kind of _”."
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"
 aria-label="What a model answers about recent words before and after it got a definition of each">
<style>
text {{ font: 15px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; fill: #24221f }}
.title {{ font-size: 20px; font-weight: 600 }}
.word {{ font-weight: 600 }}
.quiet, .subwords, .definition {{ fill: #6b655c }}
.quiet, .definition {{ font-size: 13px }}
.subwords {{ font: 13px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace }}
.before {{ fill: #757068 }}
.after {{ fill: #0a7a4b; font-weight: 600 }}
</style>
<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="12" fill="#fdfcfa" stroke="#d8d1c5"/>
<text x="{_COLUMNS[0]}" y="38" class="title">{_TITLE}</text>
{head}
{"".join(rows)}
<text x="{_COLUMNS[0]}" y="{height - 14}" class="quiet">{note}</text>
</svg>
"""


def _row(y: int, name: str, report, lm: LanguageModel) -> str:
    word, definition, before, after = _COLUMNS
    subwords = " ".join(lm.tokens.subword_strings(lm.subwords(name)))
    lines = textwrap.wrap(GLOSSARY[name], 42, max_lines=2, placeholder=" …")
    written = "".join(
        f'<text x="{definition}" y="{y + 20 + 19 * number}" class="definition">{escape(line)}</text>\n'
        for number, line in enumerate(lines)
    )
    return (
        f'<line x1="{word}" x2="{_WIDTH - 28}" y1="{y - 6}" y2="{y - 6}" stroke="#e6e0d6"/>\n'
        f'<text x="{word}" y="{y + 20}" class="word">{escape(name)}</text>\n'
        f'<text x="{word}" y="{y + 40}" class="subwords">{escape(subwords)}</text>\n{written}'
        f'<text x="{before}" y="{y + 22}" class="before">{escape(", ".join(report.before[:3]))}</text>\n'
        f'<text x="{after}" y="{y + 22}" class="after">{escape(", ".join(report.after[:2]))}</text>\n'
    )


if __name__ == "__main__":
    main()

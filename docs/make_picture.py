"""Draw ``docs/images/before-after.svg`` from a real teaching run, in half a minute.

    python docs/make_picture.py

The bundled model is taught the text of ``tests/data/invented``, whose words no model can have met. The
picture shows the first words of the held-out half, in the order of the file, whether or not they turn out
well. Nothing about the vectors was chosen on that half.
"""

from __future__ import annotations

import sys
import textwrap
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from rarewords import LanguageModel, teach
from rarewords.teaching.outcome import Learned, Taught

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data" / "invented"
PICTURE = ROOT / "docs" / "images" / "before-after.svg"
SHOWN = 6
_TITLE = "A dozen sentences per word: what the model answers before and after"
_WIDTH, _TOP, _ROW = 1000, 96, 62
_COLUMNS = (28, 170, 488, 744)


def main() -> None:
    """Teach, then draw."""
    lm = LanguageModel.from_pretrained()
    with TemporaryDirectory() as folder:
        taught = teach([DATA / "text.txt"], Path(folder) / "taught", model=lm, workers=1)
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(draw(taught, lm), "utf-8")
    print(PICTURE.relative_to(ROOT), file=sys.stderr)


def draw(taught: Taught, lm: LanguageModel) -> str:
    """The picture, with its own background, so that it is readable on light and dark pages."""
    known = {one.word: one for one in (*taught.words, *taught.worse)}
    chosen = [(word, right) for word, half, right in _listed() if half == "held" and word in known][:SHOWN]
    sentences = (DATA / "text.txt").read_text("utf-8").splitlines()
    left_out = {one.word for one in taught.worse}
    parts = []
    for row, (word, right) in enumerate(chosen):
        pieces = " ".join(lm.tokens.piece_strings(lm.pieces(word)))
        sentence = next(line for line in sentences if word in line)
        parts.append(_row(_TOP + row * _ROW, known[word], pieces, sentence, right, word in left_out))
    height = _TOP + len(chosen) * _ROW + 34
    headings = ("word and its pieces", "first sentence", "before", "after")
    head = "".join(
        f'<text x="{x}" y="70" class="quiet">{name}</text>'
        for x, name in zip(_COLUMNS, headings, strict=True)
    )
    note = (
        f"Answers of {escape(taught.model)} to “a … is a kind of _”; correct answers in green. "
        "Drawn by docs/make_picture.py from a real run."
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"
 aria-label="What a model answers for invented words before and after teaching">
<style>
text {{ font: 15px system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; fill: #24221f }}
.title {{ font-size: 20px; font-weight: 600 }}
.word {{ font-weight: 600 }}
.quiet, .pieces, .sentence {{ fill: #6b655c }}
.quiet, .sentence {{ font-size: 13px }}
.pieces {{ font: 13px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace }}
.before {{ fill: #757068 }}
.right {{ fill: #0a7a4b; font-weight: 700 }}
</style>
<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{height - 1}" rx="12" fill="#fdfcfa" stroke="#d8d1c5"/>
<text x="{_COLUMNS[0]}" y="38" class="title">{_TITLE}</text>
{head}
{"".join(parts)}
<text x="{_COLUMNS[0]}" y="{height - 14}" class="quiet">{note}</text>
</svg>
"""


def _listed() -> list[tuple[str, str, set[str]]]:
    lines = (DATA / "words.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [(word, half, set(right.split())) for word, half, right in rows]


def _row(y: int, one: Learned, pieces: str, sentence: str, right: set[str], left_out: bool) -> str:
    word, text, before, after = _COLUMNS
    lines = textwrap.wrap(sentence, 41, max_lines=2, placeholder=" …")
    written = "".join(
        f'<text x="{text}" y="{y + 20 + 19 * number}" class="sentence">{escape(line)}</text>\n'
        for number, line in enumerate(lines)
    )
    name = f"{one.word} (left out)" if left_out else one.word
    return (
        f'<line x1="{word}" x2="{_WIDTH - 28}" y1="{y - 6}" y2="{y - 6}" stroke="#e6e0d6"/>\n'
        f'<text x="{word}" y="{y + 20}" class="word">{escape(name)}</text>\n'
        f'<text x="{word}" y="{y + 40}" class="pieces">{escape(pieces)}</text>\n{written}'
        f'<text x="{before}" y="{y + 22}" class="before">{_answers(one.before, right)}</text>\n'
        f'<text x="{after}" y="{y + 22}">{_answers(one.after, right)}</text>\n'
    )


def _answers(answers: tuple[str, ...], right: set[str]) -> str:
    shown = [
        f'<tspan class="right">{escape(answer)}</tspan>' if answer in right else escape(answer)
        for answer in answers[:3]
    ]
    return ", ".join(shown)


if __name__ == "__main__":
    main()

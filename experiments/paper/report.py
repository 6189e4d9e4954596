"""The report: every part with its tables and figures, the conclusions, the inputs and the costs."""

import base64
import platform
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import torch
import transformers
from markdown_it import MarkdownIt

from experiments.paper.part import TEXTS, VERDICTS, Claim, Part, count_verdicts, to_json
from experiments.paper.settings import ReproduceSettings
from experiments.paper.stages import Cost
from rarewords import __version__
from rarewords._internal.files import write_json, write_lines
from rarewords._internal.progress import duration
from rarewords._internal.tables import markdown_table
from rarewords.lm import LanguageModel

_TEXTS = TEXTS["report"]


@dataclass(frozen=True)
class Reproduction:
    """What a run found, and what its report is made of.

    :param parts: the results by name, in the order of the paper; parts of earlier runs with the same inputs
        included.
    :param costs: of all stages the parts needed.
    :param facts: sizes of the inputs, the environment and the command, which the report names.
    """

    folder: Path
    settings: ReproduceSettings
    parts: dict[str, Part]
    costs: Sequence[Cost]
    facts: dict[str, Any]

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The paper's conclusions, tested."""
        return tuple(claim for part in self.parts.values() for claim in part.claims())

    @property
    def report(self) -> Path:
        """The page."""
        return self.folder / "report.html"


def write_report(done: Reproduction) -> None:
    """Write ``report.md``, the same as one HTML page, the figures and the claims."""
    text = "\n\n".join(block.rstrip() for block in _blocks(done)) + "\n"
    claims = [{**to_json(claim), "verdict": claim.verdict} for claim in done.claims]
    write_json(done.folder / "results" / "claims.json", claims)
    write_lines(done.folder / "report.md", [text])
    write_lines(done.report, [page(text, done.folder)])


def environment(lm: LanguageModel) -> str:
    """The machine and the programs, without anything that names a person or a place."""
    device = torch.cuda.get_device_name(lm.device) if lm.device.type == "cuda" else lm.device.type
    programs = f"rarewords {__version__}, torch {torch.__version__}, transformers {transformers.__version__}"
    return f"{programs}, Python {platform.python_version()}, {platform.machine()}, {device}, {lm.dtype}"


def page(text: str, folder: Path) -> str:
    """The Markdown of a report as an HTML page with its figures inside."""
    html = MarkdownIt("commonmark").enable("table").render(text)
    titles = re.findall("<h2>(.*?)</h2>", html)
    links = "".join(f'<li><a href="#{number}">{title}</a></li>' for number, title in enumerate(titles))
    for number, title in enumerate(titles):
        html = html.replace(f"<h2>{title}</h2>", f'<h2 id="{number}">{title}</h2>')
    for verdict in VERDICTS:
        pill = f'<span class="pill {verdict.replace(" ", "-")}">{verdict}</span>'
        html = html.replace(f"<strong>{verdict}</strong>", pill)
    html = html.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
    html = re.sub(r"<tr>(?=\n<td>[^<]*</td>\n<td>paper)", '<tr class="paper">', html)
    for figure in (folder / "figures").glob("*.svg"):
        packed = base64.b64encode(figure.read_bytes()).decode()
        html = html.replace(f'"figures/{figure.name}"', f'"data:image/svg+xml;base64,{packed}"')
    template = Template((files("experiments.paper") / "page.html").read_text("utf-8"))
    return template.substitute(title=_TEXTS["title"], links=links, content=html)


def _blocks(done: Reproduction) -> Iterator[str]:
    """The paragraphs, lists and tables of the report."""
    size = done.settings
    values = {
        **done.facts,
        "size": size,
        "all_entries": sum(done.facts["entries"].values()),
        "last_epoch": size.epochs[-1],
        "epochs": ", ".join(map(str, size.epochs)),
        "contexts": size.contexts or "all that the corpus keeps",
        "seeds": ", ".join(map(str, size.training_seeds)),
    }
    yield f"# {_TEXTS['title']}"
    if not size.whole:
        yield _TEXTS["sample"].format(**values)
    yield _TEXTS["about"].format(**values)
    yield _TEXTS["paper"]
    if done.claims:
        yield "## The paper's conclusions"
        yield f"*{len(done.claims)} conclusions: {count_verdicts(done.claims)}.*"
        rows = [[f"**{claim.verdict}**", claim.statement, claim.published, claim.evidence] for claim in done.claims]
        yield markdown_table(["verdict", "conclusion", "the paper", "ours"], rows, left=4)
    for part in done.parts.values():
        yield f"## {part.title}"
        yield from part.markdown(done.folder / "figures")
        if claims := part.claims():
            yield "### Conclusions tested"
            yield "\n".join(map(_tested, claims))
        if reasons := part.reasons(done.facts):
            yield "### Where and why ours differs"
            yield "\n".join(f"- {reason}" for reason in reasons)
    yield "## Inputs, settings and environment"
    yield _TEXTS["inputs_caption"].format(**values)
    rows = [[cell.format(**values) for cell in row] for row in _TEXTS["inputs"]]
    yield markdown_table(["", "here", "paper"], rows, left=3)
    yield _TEXTS["files"].format(**values)
    yield "## What it cost"
    yield "*Seconds of each stage, without the stages inside it.*"
    yield _costs(done.costs)


def _tested(claim: Claim) -> str:
    """A claim and its checks as items of a list."""
    about = f"- **{claim.verdict}** {claim.statement} The paper: {claim.published}. Test: {claim.test}."
    return "\n".join([about, *(f"  - {'✓' if check.holds else '✗'} {check.text}" for check in claim.checks)])


def _costs(costs: Sequence[Cost]) -> str:
    rows = []
    for cost in costs:
        origin = "earlier run" if cost.reused else "resumed" if cost.resumed else "this run"
        rows.append([cost.stage, f"{cost.seconds:,.1f}", origin])
    now = sum(cost.seconds for cost in costs if not cost.reused)
    total = sum(cost.seconds for cost in costs)
    rows.append(["all stages", f"{total:,.1f}", f"{duration(now)} in this run"])
    return markdown_table(["stage", "seconds", "made in"], rows)

"""The report: every part with its tables and figures, the conclusions, the inputs and the costs."""

import base64
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.resources import files
from pathlib import Path

import torch
import transformers
from markdown_it import MarkdownIt

from rarewords import __version__
from rarewords.files import to_json, write_json, write_lines
from rarewords.lm import LanguageModel
from rarewords.paper import published
from rarewords.paper.experiment import Facts
from rarewords.paper.part import VERDICTS, Claim, Part, counted, paragraphs, table
from rarewords.paper.settings import ReproduceSettings
from rarewords.progress import duration
from rarewords.stages import Cost

TITLE = "Rare words and attentive mimicking, reproduced"


@dataclass(frozen=True)
class Reproduction:
    """What a run found, and what its report is made of.

    :param parts: the results by name, in the order of the paper; parts of earlier runs with the same inputs
        included.
    :param costs: of all stages the parts needed.
    """

    folder: Path
    facts: Facts
    environment: str
    settings: ReproduceSettings
    parts: dict[str, Part]
    costs: Sequence[Cost]
    command: str
    dataset: str

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
    sections = [_summary(done), *(_section(done, part) for part in done.parts.values())]
    text = "\n".join([*sections, _inputs(done), _costs(done)])
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
    kinds = dict(zip(VERDICTS, ("seen", "part", "not", "untested"), strict=True))
    for verdict, kind in kinds.items():
        html = html.replace(f"<strong>{verdict}</strong>", f'<span class="pill {kind}">{verdict}</span>')
    html = re.sub(r"<table>(.*?)</table>", r'<div class="scroll"><table>\1</table></div>', html, flags=re.S)
    html = re.sub(r"<tr>(?=\n<td>[^<]*</td>\n<td>paper)", '<tr class="paper">', html)
    for name in set(re.findall(r'(?<= src=")figures/[^"]+', html)):
        figure = base64.b64encode((folder / name).read_bytes()).decode()
        html = html.replace(f'src="{name}"', f'src="data:image/svg+xml;base64,{figure}"')
    style = (files("rarewords") / "paper" / "page.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(TITLE)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<nav><p>Contents</p><ul>{links}</ul></nav>\n<main>\n{html}</main>\n</body>\n</html>\n"
    )


def _summary(done: Reproduction) -> str:
    facts, size = done.facts, done.settings
    lines = [f"# {TITLE}\n"]
    if not size.whole:
        lines.append(
            f"> **A sample.** This is a run of the sample “{size.name}”, for trying the commands, not for "
            f"conclusions: {sum(facts.entries.values()):,} entries, {size.curve_words} words "
            f"in the figure of OTA, {facts.training_several:,} training words of several pieces, "
            f"{size.epochs[-1]} epochs.\n"
        )
    lines.append(
        f"The experiments of Schick & Schütze (AAAI 2020) on **{facts.model}** ({facts.architecture}, "
        f"{facts.layers} layers of {facts.hidden}, {facts.parameters:,.0f} million parameters), corpus of "
        f"{facts.corpus_size}, trainings per configuration: {size.seeds}.\n\nThe paper: "
        f"{published.CITATION}\n"
    )
    if done.claims:
        header = ["verdict", "conclusion", "the paper", "ours"]
        rows = [[f"**{one.verdict}**", one.statement, one.published, one.evidence] for one in done.claims]
        lines.append("## The paper's conclusions\n")
        lines.append(table(f"{len(rows)} conclusions: {counted(done.claims)}.", header, rows, left=4))
    return "\n".join(lines)


def _section(done: Reproduction, part: Part) -> str:
    lines = [f"## {part.title}\n", part.markdown(done.folder / "figures")]
    claims, reasons = part.claims(), part.reasons(done.facts)
    lines += ["### Conclusions tested\n"] if claims else []
    for claim in claims:
        tested = f"{claim.statement} The paper: {claim.published}. Test: {claim.test}."
        lines.append(f"- **{claim.verdict}** {tested}")
        lines += [f"  - {'✓' if check.holds else '✗'} {check.text}" for check in claim.checks]
    if reasons:
        lines += ["\n### Where and why ours differs\n", *(f"- {reason}" for reason in reasons)]
    return "\n".join([*lines, ""])


def _inputs(done: Reproduction) -> str:
    facts, size = done.facts, done.settings
    several = f"{facts.training_one_piece:,} of one piece, {facts.training_several:,} of several"
    rows = [
        ["model", f"{facts.model}, {facts.layers} × {facts.hidden}", "BERT-base 12 × 768, large 24 × 1024"],
        ["vocabulary", f"{facts.vocabulary:,}", "30,522"],
        ["corpus", f"{facts.corpus_words:,} words", "nearly 1,000,000,000"],
        ["training words", f"{several}, count ≥ {size.min_count}", "count ≥ 100"],
        ["OTA of keywords and targets", facts.ota, "RANDOM, 4,000 iterations"],
        ["epochs", ", ".join(map(str, size.epochs)), "5, 10"],
        ["contexts per word", str(size.contexts or "all that the store keeps"), "at most 1,000"],
        ["seeds", ", ".join(map(str, done.settings.training_seeds)), "not given"],
    ]
    for place, (band, number) in enumerate(facts.entries.items()):
        paper = sum(sizes[place] for sizes in published.SIZES.values() if place < len(sizes))
        rows.append([f"entries, {band}", f"{number:,}", f"{paper:,}"])
    rows.append(["environment", done.environment, "not given"])
    caption = f"Inputs beside the paper's. The entries are those of {done.dataset}."
    return paragraphs(
        "## Inputs, settings and environment",
        table(caption, ["", "here", "paper"], rows, left=3),
        f"Settings are in `settings.json`, raw results in `results`. Repeat: `{done.command}`",
    )


def _costs(done: Reproduction) -> str:
    rows = []
    for cost in done.costs:
        made = "earlier run" if cost.reused else "resumed" if cost.resumed else "this run"
        rows.append([cost.stage, f"{cost.seconds:,.1f}", made])
    now = sum(cost.seconds for cost in done.costs if not cost.reused)
    total = sum(cost.seconds for cost in done.costs)
    rows.append(["all stages", f"{total:,.1f}", f"{duration(now)} in this run"])
    caption = "Seconds of each stage, without the stages inside it."
    return f"## What it cost\n\n{table(caption, ['stage', 'seconds', 'made in'], rows)}"

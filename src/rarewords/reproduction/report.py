"""The report: every part with its tables and figures, the conclusions, the settings and the costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rarewords.files import whole_file, write_json
from rarewords.progress import duration
from rarewords.reproduction import published
from rarewords.reproduction.claims import Claim, counted
from rarewords.reproduction.document import Points, Section, Table, Text, section_markdown
from rarewords.reproduction.page import page
from rarewords.reproduction.parts import PARTS
from rarewords.reproduction.settings import ReproduceSettings
from rarewords.reproduction.workshop import Cost

TITLE = "Rare words and attentive mimicking, reproduced"


@dataclass(frozen=True)
class Report:
    """All that a report is made of.

    :param results: of each part, in the order of the paper.
    :param costs: of the stages this run needed.
    """

    facts: Mapping[str, Any]
    environment: Mapping[str, str]
    settings: ReproduceSettings
    results: Mapping[str, Mapping[str, Any]]
    costs: Sequence[Cost]
    command: str
    dataset: str


def write_report(report: Report, folder: Path) -> tuple[Path, tuple[Claim, ...]]:
    """Write the page, its Markdown, the tables and the figures; return the page's path and the claims."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    sections = [_section(name, report, folder) for name in report.results]
    claims = tuple(claim for section in sections for claim in section.claims)
    summary = _summary(report, claims)
    about = [_inputs(report), _costs(report)]
    for section in [*sections, *about]:
        for table in section.tables:
            _write(folder / "tables" / f"{table.name}.md", f"{table.caption}\n\n{table.markdown()}")
    write_json(folder / "results" / "claims.json", [claim.as_json() for claim in claims])
    lines = [f"# {TITLE}", "", *(line for text in summary for line in (text, ""))]
    lines += [section_markdown(section, folder) for section in [*sections, *about]]
    _write(folder / "report.md", "\n".join(lines))
    _write(folder / "report.html", page(TITLE, summary, claims, sections, about, banner(report)))
    return folder / "report.html", claims


def banner(report: Report) -> str:
    """What a reader must know first: that this is a sample; nothing where it is the paper's size."""
    if report.settings.sample.whole:
        return ""
    size, facts = report.settings.sample, report.facts
    return (
        f"This is a run of the sample “{size.name}”, for trying the commands, not for conclusions: "
        f"{facts['dev']:,} entries of dev and {facts['test']:,} of test, {size.ota_words} words and "
        f"{size.ota_iterations} iterations in the figure of OTA, {facts['training_several']:,} training "
        f"words of several pieces, trainings of {size.epochs[-1]} epochs. Figures move by chance, and "
        "p-values are large."
    )


def _section(name: str, report: Report, folder: Path) -> Section:
    part, result = PARTS[name], dict(report.results[name])
    return Section(
        name,
        part.title,
        part.blocks(result, folder / "figures"),
        part.claims(result),
        part.reasons(result, report.facts),
        _command_of(report.command, name),
        part.beyond,
    )


def _summary(report: Report, claims: Sequence[Claim]) -> list[str]:
    facts = report.facts
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in counted(claims).items() if number)
    text = [
        f"The experiments of Schick & Schütze (AAAI 2020), run anew on **{facts['model']}** "
        f"({facts['architecture']}, {facts['layers']} layers of {facts['hidden']}, "
        f"{facts['parameters']:,.0f} million parameters) with a corpus of {facts['corpus_size']}, every "
        "figure beside the paper's own.",
    ]
    if claims:
        text.append(f"Of {len(claims)} conclusions of the paper: {verdicts}.")
    text.append(f"The paper: {published.CITATION}")
    if banner(report):
        text.insert(0, f"**A sample.** {banner(report)}")
    return text


def _inputs(report: Report) -> Section:
    facts, settings = report.facts, report.settings
    rows = [
        [
            "model",
            f"{facts['model']}, {facts['layers']} × {facts['hidden']}",
            "BERT-base 12 × 768, large 24 × 1024",
        ],
        ["vocabulary", f"{facts['vocabulary']:,} ({facts['whole_words']:,} whole words)", "30,522"],
        ["corpus", f"{facts['corpus_words']:,} words", "nearly 1,000,000,000"],
        ["training words", _trained(facts), "count of at least 100"],
        *(
            [f"entries, {band}", f"{facts['entries'][band]:,}", f"{_published_size(number):,}"]
            for number, band in enumerate(facts["entries"])
        ),
        ["OTA of keywords and targets", settings.ota_text(), "RANDOM, 4000 iterations"],
        ["seed", f"{settings.seed}", "–"],
    ]
    size = settings.sample
    own = (
        "It is built by the paper's rules from other counts, so its entries and what is rare in it are not "
        "the paper's. "
        if "bundled" in report.dataset
        else ""
    )
    points = [f"{name}: {value}" for name, value in report.environment.items()]
    return Section(
        "inputs",
        "Inputs, settings and environment",
        [
            Table("inputs", "What went in, beside the paper's.", ["", "here", "paper"], rows, left=3),
            Text(
                f"Sample “{size.name}”: {size.ota_words:,} words and {size.ota_iterations:,} iterations in "
                f"the figure of OTA; epochs {', '.join(map(str, size.epochs))}; words with a count of at "
                f"least {size.min_count}, at most {size.copies_max} training instances an epoch; contexts "
                f"of a word: {size.contexts or 'all that are kept'}; trainings of each configuration: "
                f"{settings.seeds}."
            ),
            Text(
                f"The entries are those of {report.dataset}. {own}Everything is in `settings.json`; raw "
                "results are in `results`, tables in `tables`, figures in `figures`."
            ),
            Points(points),
        ],
        command=report.command,
    )


def _costs(report: Report) -> Section:
    rows = [
        [
            cost.stage,
            f"{cost.seconds:,.1f}",
            "earlier run" if cost.reused else "resumed" if cost.resumed else "this run",
        ]
        for cost in report.costs
    ]
    total = sum(cost.seconds for cost in report.costs)
    now = sum(cost.seconds for cost in report.costs if not cost.reused)
    here = f"{duration(now)} in this run" if now else "earlier runs"
    rows.append(["all stages", f"{total:,.1f}", here])
    return Section(
        "costs",
        "What it cost",
        [
            Table(
                "costs",
                "Seconds of each stage, without the stages it asked for.",
                ["stage", "seconds", "made in"],
                rows,
            ),
        ],
    )


def _trained(facts: Mapping[str, Any]) -> str:
    return f"{facts['training_one_piece']:,} of one piece, {facts['training_several']:,} of several"


def _published_size(number: int) -> int:
    return sum(sizes[number] for sizes in published.SIZES.values() if number < len(sizes))


def _command_of(command: str, name: str) -> str:
    head, _, rest = command.partition(" --")
    return f"{' '.join(head.split()[:2])} {name} --{rest}" if rest else f"{head} {name}"


def _write(path: Path, text: str) -> None:
    with whole_file(path) as temporary:
        temporary.write_text(text, "utf-8")

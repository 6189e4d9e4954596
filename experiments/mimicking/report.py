"""``python -m experiments.mimicking.report PART OUT``: tables of what the processes in OUT have finished.

Writes ``results/PART-MODEL.json`` with every number and ``results/PART-MODEL.md`` with the tables. A result of several
seeds is the mean of their reciprocal ranks, entry by entry; better and worse count the entries where it differs from
another.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from experiments.code import code_of, modules_behind
from experiments.common import Results
from rarewords import wnlampro
from rarewords._internal.files import read_json, write_json, write_lines
from rarewords._internal.tables import markdown_table
from rarewords.models import DEFAULT_MODEL
from rarewords.wnlampro.comparison import compare_values
from rarewords.wnlampro.dataset import BANDS, RELATIONS, Dataset, band_of
from rarewords.wnlampro.tables import figure, relation_title, signed

RESULTS = Path(__file__).parent / "results"
NOUNS = "without misspellings"
MACRO = "macro average"
PLACEMENTS = ("replace", "append")


@dataclass(frozen=True)
class Entries:
    """The entries of dev or test, and means of one number for each of them."""

    entries: Dataset

    @cached_property
    def _cells(self) -> dict[tuple[str, str], np.ndarray]:
        relations = np.array([entry.relation for entry in self.entries])
        bands = np.array([band_of(entry.word.count) for entry in self.entries])
        groups = {relation: relations == relation for relation in RELATIONS}
        groups |= {"all": relations != "", NOUNS: relations != "corruption"}
        cells = {(name, band): rows & (bands == band) for name, rows in groups.items() for band in BANDS}
        return {cell: rows for cell, rows in cells.items() if rows.any()}

    def rows(self, group: str, band: str) -> np.ndarray:
        """Which entries belong to a group and a frequency. *Shape:* (entries,)"""
        return self._cells.get((group, band), np.zeros(len(self.entries), np.bool_))

    def means(self, values: np.ndarray) -> dict[str, dict[str, float]]:
        """By group, and as the mean over relations, and by frequency."""
        found: dict[str, dict[str, float]] = defaultdict(dict)
        for (group, band), rows in self._cells.items():
            found[group][band] = float(values[rows].mean())
        for band in BANDS:
            own = [found[relation][band] for relation in RELATIONS if band in found[relation]]
            if own:
                found[MACRO][band] = float(np.mean(own))
        return dict(found)

    def compared(self, values: np.ndarray, base: np.ndarray) -> dict[str, dict[str, Any]]:
        """How rare words differ from another result, by group."""
        found: dict[str, dict[str, Any]] = {}
        for (group, band), rows in self._cells.items():
            if band == BANDS[0]:
                one = compare_values(values[rows], base[rows])
                interval = [one.low, one.high]
                found[group] = {"change": one.mean, "interval": interval, "better": one.wins, "worse": one.losses}
                found[group]["p"] = one.p_value
        return found


def main(
    part: Annotated[str, typer.Argument(help="table or factorial.")],
    out: Annotated[Path, typer.Argument(help="The folder that experiments.mimicking wrote.")],
    model: str = DEFAULT_MODEL,
    to: Annotated[Path, typer.Option(help="The folder for the tables.")] = RESULTS,
    limit: Annotated[int | None, typer.Option(help="As many entries as were asked.")] = None,
) -> None:
    """Write the results and the tables."""
    results = Results(None, "mimicking", model)
    dev, test = (Entries(Dataset(wnlampro.load().select(subset=name, limit=limit))) for name in ("dev", "test"))
    _add_dev(results, dev, out)
    if (out / "subwords-test.json").is_file():
        _add_test(results, test, out)
        _add_sampled(results, test, out)
    for path in sorted(out.glob("sample-*.json")):
        found = {key: value for key, value in read_json(path).items() if key not in ("version", "code", "modules")}
        results.add(part="approximation", **found)
    seconds = {path.stem: float(path.read_text("utf-8")) for path in sorted((out / "jobs").glob("*.done"))}
    code = code_of(modules_behind(sorted(out.glob("*.json"))))
    about = {"experiment": f"mimicking {part}", **read_json(out / "about.json"), **code, "seconds": seconds}
    write_json(to / f"{part}-{results.model}.json", {**about, "rows": results.rows})
    write_lines(to / f"{part}-{results.model}.md", ["\n".join(_tables(results.rows))])


def _add_dev(results: Results, dev: Entries, out: Path) -> None:
    subwords = _reciprocal(read_json(out / "subwords-dev.json")["dev"])
    results.add(part="dev", setting="subwords", mrr=dev.means(subwords))
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for path in sorted(out.glob("*-[0-9].json")):
        one = read_json(path)
        for row in one.get("rows", ()):
            kind = row.get("stage") or f"{row['epochs']} epochs"
            more = row.get("placement") if "stage" in row else row["length"] and f"length {row['length']:g}"
            about = {key: one.get(key) for key in ("preset", "contexts", "ota", "changes", "ngrams", "losses")}
            found[one["name"], f"{kind}, {more}" if more else kind].append({**about, **row, "seed": one["seed"]})
    paper = {(kind, row["seed"]): row for (name, kind), rows in found.items() if name == "paper" for row in rows}
    for (name, kind), rows in found.items():
        values = _mean(rows)
        # With the same seeds: a mean over more of them differs from more entries.
        same = [paper[kind, row["seed"]] for row in rows if (kind, row["seed"]) in paper]
        numbers = [key for key in rows[0] if "," in key or key in ("context_share", "loss", "seconds")]
        means = {key: float(np.mean([row[key] for row in rows])) for key in numbers}
        about = {key: rows[0][key] for key in ("preset", "contexts", "ota", "changes", "ngrams", "losses")}
        results.add(
            part="dev",
            setting=name,
            measured=kind,
            seeds=[row["seed"] for row in rows],
            **{key: value for key, value in about.items() if value is not None},
            **means,
            mrr=dev.means(values),
            by_seed=[dev.means(_reciprocal(row["dev"]))["all"][BANDS[0]] for row in rows],
            against_subwords=dev.compared(values, subwords),
            against_paper=dev.compared(values, _mean(same)) if len(same) == len(rows) else None,
        )


def _add_test(results: Results, test: Entries, out: Path) -> None:
    subwords = _reciprocal(read_json(out / "subwords-test.json")["test"])
    results.add(part="test", setting="subwords", entries=len(test.entries), mrr=test.means(subwords))
    for (name, placement), runs in _test_runs(out).items():
        values = np.mean(runs, axis=0)
        results.add(
            part="test",
            setting=name,
            placement=placement,
            seeds=len(runs),
            mrr=test.means(values),
            by_seed=[test.means(run)["all"][BANDS[0]] for run in runs],
            against_subwords=test.compared(values, subwords),
        )


def _add_sampled(results: Results, test: Entries, out: Path) -> None:
    """Every setting on the entries of the keywords that the costlier ways were measured on."""
    sampled = [read_json(path) for path in sorted(out.glob("sampled-*.json"))]
    if not sampled:
        return
    chosen = np.array([entry.word.text in sampled[0]["words"] for entry in test.entries])
    part = Entries(Dataset(tuple(entry for entry, yes in zip(test.entries, chosen, strict=True) if yes)))
    subwords = _reciprocal(read_json(out / "subwords-test.json")["test"])[chosen]
    results.add(part="sampled", setting="subwords", placement="", entries=len(part.entries), mrr=part.means(subwords))
    cost = {row["setting"]: row["seconds"] for row in results.rows if row.get("seconds")}
    found = {key: np.mean(runs, axis=0)[chosen] for key, runs in _test_runs(out).items()}
    found |= {(one["name"], "replace"): _reciprocal(one["replace"]) for one in sampled}
    cost |= {one["name"]: one["seconds"] for one in sampled}
    for (name, placement), values in found.items():
        about = {"seconds": cost.get(name), "mrr": part.means(values)}
        about["against_subwords"] = part.compared(values, subwords)
        results.add(part="sampled", setting=name, placement=placement, **about)


def _test_runs(out: Path) -> dict[tuple[str, str], list[np.ndarray]]:
    """The reciprocal ranks of test, a run for each seed, by setting and placement."""
    found: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)
    for path in sorted(out.glob("test-*-[0-9].json")):
        one = read_json(path)
        name = one["name"].rpartition("-")[0]
        for placement in (place for place in PLACEMENTS if place in one):
            found[name, placement].append(_reciprocal(one[placement]))
    return found


def _mean(rows: Sequence[dict[str, Any]]) -> np.ndarray:
    return np.asarray(np.mean([_reciprocal(row["dev"]) for row in rows], axis=0))


def _reciprocal(ranks: Sequence[int]) -> np.ndarray:
    values = np.array(ranks)
    return np.where(values > 0, 1 / np.maximum(values, 1), 0.0)


def _tables(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    dev = [row for row in rows if row["part"] == "dev"]
    groups = [*RELATIONS, "all", NOUNS, MACRO]
    bands = [(group, BANDS[0]) for group in groups] + [(group, band) for band in BANDS[1:] for group in ("all", MACRO)]
    titles = [f"{_title(group)} {band}" for group, band in bands]
    for part, key in (("dev", "measured"), ("test", "placement")):
        own = [row for row in rows if row["part"] == part]
        yield f"## WNLaMPro {part}\n\nMRR. Better / worse: rare entries against the subwords; * p < 0.05.\n"
        table = []
        for row in own:
            cells = [figure(row["mrr"].get(group, {}).get(band, np.nan)) for group, band in bands]
            seeds = row.get("seeds", "")
            table.append([row["setting"], row.get(key, ""), *cells, _verdict(row, "against_subwords")])
            table[-1].insert(2, str(len(seeds) if isinstance(seeds, list) else seeds))
        yield markdown_table(["setting", key, "seeds", *titles, "better / worse"], table, left=2)
    yield "## Rare words of test against the subwords\n\nTimes the MRR, better / worse; * p < 0.05.\n"
    own = [row for row in rows if row["part"] == "test"]
    groups = [*RELATIONS, "all", NOUNS]
    table = [[row["setting"], row["placement"], *(_times(row, own[0], group) for group in groups)] for row in own[1:]]
    yield markdown_table(["setting", "placement", *map(_title, groups)], table, left=2)
    own = [row for row in rows if row["part"] == "sampled"]
    if own:
        about = f"MRR of the {own[0]['entries']:,} entries of test whose keywords are in a sample of several subwords"
        yield f"## The same keywords by every way\n\n{about}.\n"
        yield "Milliseconds per word, beside other processes; AM and BERTRAM had read their contexts before.\n"
        table = []
        for row in own:
            cells = [figure(row["mrr"].get(group, {}).get(band, np.nan)) for group, band in bands]
            seconds = f"{1000 * row['seconds']:.2g}" if row.get("seconds") else ""
            table.append([row["setting"], row["placement"], *cells, _verdict(row, "against_subwords"), seconds])
        yield markdown_table(["setting", "placement", *titles, "better / worse", "ms"], table, left=2)
    yield "## Cosine of embedding and target\n\nMean over words that the training saw, and that it did not see.\n"
    kinds = [key for row in dev for key in row if key.startswith(("seen", "kept apart"))]
    kinds = list(dict.fromkeys(kinds))
    table = [
        [row["setting"], row["measured"], *(figure(row[kind]) for kind in kinds), f"{row['context_share']:.0%}"]
        for row in dev
        if "context_share" in row
    ]
    yield markdown_table(["setting", "measured", *kinds, "from contexts"], table, left=2)
    for row in rows:
        if row["part"] == "approximation":
            about = f"{row['words']:,} words of two subwords, cosine of both presets {figure(row['cosine'])}"
            yield f"## Approximation by both presets\n\n{about}. The paper's distance in 16 contexts:\n"
            steps = {name: f"{number:,}" for name, number in row["steps"].items()}
            table = [[name, steps.get(name, ""), f"{value:.1f}"] for name, value in row["distance"].items()]
            yield markdown_table(["embedding", "steps", "distance"], table)
    yield "## Against the paper's setting\n\nRare words of dev: change of the MRR and its interval.\n"
    table = []
    for row in dev:
        if row.get("against_paper") and row["setting"] != "paper":
            one = row["against_paper"]["all"]
            change = f"{signed(one['change'])} [{signed(one['interval'][0])}, {signed(one['interval'][1])}]"
            table.append([row["setting"], row["measured"], change, _verdict(row, "against_paper")])
    yield markdown_table(["setting", "measured", "change", "better / worse"], table, left=2)


def _title(group: str) -> str:
    return relation_title(group) if group in RELATIONS else group


def _times(row: dict[str, Any], base: dict[str, Any], group: str) -> str:
    if group not in row["against_subwords"]:
        return ""
    mean, before = (one["mrr"][group][BANDS[0]] for one in (row, base))
    return f"{mean / before if before else np.nan:.2f}, {_verdict(row, 'against_subwords', group)}"


def _verdict(row: dict[str, Any], key: str, group: str = "all") -> str:
    if key not in row:
        return ""
    one = row[key][group]
    return f"{one['better']:,} / {one['worse']:,}{'*' if one['p'] < 0.05 else ''}"


if __name__ == "__main__":
    typer.run(main)

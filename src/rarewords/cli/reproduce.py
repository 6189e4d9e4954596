"""``rarewords reproduce``: the paper's experiments on any model, with a report."""

import shlex
from dataclasses import replace
from pathlib import Path

import rarewords  # its names load torch when they are used, which takes seconds
from rarewords.cli import options
from rarewords.files import to_json
from rarewords.probe.dataset import Dataset
from rarewords.vectors import open_vectors


def reproduce(
    corpus: Path,
    out: Path,
    parts: list[str] | None = None,
    model: str = "default",
    quick: bool = False,
    targets: Path | None = None,
    data: str = "default",
    seeds: int | None = None,
    seed: int = 0,
    workers: int = 1,
    device: str = "auto",
    as_json: bool = False,
) -> None:
    """Run the paper's experiments and write `report.html`, with figures and raw results.

    Finished stages stay in the folder, so the same command resumes an interrupted run.

    Example: `rarewords reproduce all --quick --corpus wiki.store --out reproduction`
    """
    # These load torch and transformers, which takes seconds.
    from rarewords.paper.part import counted
    from rarewords.paper.run import check_parts
    from rarewords.paper.run import reproduce as run
    from rarewords.paper.settings import QUICK, ReproduceSettings

    asked = parts or ["all"]
    check_parts(asked)
    size = QUICK if quick else ReproduceSettings()
    settings = replace(size, seed=seed, seeds=size.seeds if seeds is None else seeds)
    store, dataset = rarewords.Store.open(corpus), Dataset.load(data)
    ready = open_vectors(targets) if targets is not None else None
    # The command is shown in the report, which is read elsewhere: files by their names.
    named = Path(model).absolute().name if Path(model).is_dir() else model
    files = {"corpus": corpus, "out": out, "targets": targets, "data": Path(data)}
    shown = ["all"] if asked == ["report"] else asked
    shown = [*shown, f"--model={named}", f"--seeds={settings.seeds}", f"--seed={seed}"]
    shown += [f"--{name}={path.absolute().name}" for name, path in files.items() if path]
    shown += ["--quick"] if quick else []
    lm = rarewords.LanguageModel.from_pretrained(model, device=device)
    with options.engine_or_none("local", workers) as engine:
        done = run(
            lm,
            store,
            out,
            parts=asked,
            settings=settings,
            dataset=dataset,
            targets=ready,
            command=shlex.join(["rarewords", "reproduce", *shown]),
            engine=engine,
        )
    claims = [{"verdict": claim.verdict, **to_json(claim)} for claim in done.claims]
    options.show(
        as_json,
        {"report": str(done.report), "claims": claims, "results": to_json(done.parts)},
        *(f"{claim.verdict:>12}  {claim.statement}" for claim in done.claims),
        f"{done.report}: {counted(done.claims) or 'no conclusions tested'}",
    )

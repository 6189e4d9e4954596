"""Every result that the documents quote, at one version of the code.

    python -m experiments --data DATA [PART ...]      # make results DATA=DATA
    python -m experiments --data DATA --show

``parts.toml`` has the command behind each results file. A part whose file is of this code is done; the others are run
in their order, one after the other, so that the same command goes on where it was stopped. PART is the start of a
file's name, such as ``glossary``. No part takes longer than 20 minutes on one H200; those that need no GPU say so.
"""

import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from experiments.common import code_digest
from rarewords._internal.tables import markdown_table

HERE = Path(__file__).parent


def main(
    parts: Annotated[list[str] | None, typer.Argument(help="The start of a results file's name.")] = None,
    data: Annotated[Path, typer.Option(help="The folder of texts, data sets and models.")] = Path("data"),
    show: Annotated[bool, typer.Option("--show", help="Only show what is done.")] = False,
) -> None:
    """Make the results that are missing or of other code."""
    every = tomllib.loads((HERE / "parts.toml").read_text("utf-8"))
    chosen = {file: own for file, own in every.items() if not parts or file.startswith(tuple(parts))}
    if not show:
        for file, commands in chosen.items():
            if state(file, commands, data) not in ("done", "data missing"):
                run(file, commands, data)
    rows = [[file, state(file, commands, data)] for file, commands in chosen.items()]
    print(markdown_table(["file", "state"], rows, left=2))


def state(file: str, commands: list[str], data: Path) -> str:
    """Whether a part is done, or what is in its way."""
    path = HERE / file
    found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if found.get("code") == code_digest():
        return "done"
    named = (word for command in commands for word in shlex.split(command) if word.startswith("{data}"))
    if not all(Path(word.format(data=data)).exists() for word in named):
        return "data missing"
    return f"of version {found['version']}, other code" if found else "missing"


def run(file: str, commands: list[str], data: Path) -> None:
    """Run the commands of a part; it must write its file."""
    print(f"== {file}", flush=True)
    for command in commands:
        words = shlex.split(command.format(data=data, out=HERE / file, results=(HERE / file).parent))
        subprocess.run([sys.executable, "-m", f"experiments.{words[0]}", *words[1:]], check=True)
    if state(file, commands, data) != "done":
        raise SystemExit(f"{' && '.join(commands)} did not write {file}")


if __name__ == "__main__":
    typer.run(main)

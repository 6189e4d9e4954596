"""Options that several commands share, with one meaning and one help text."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

Model = Annotated[
    str,
    typer.Option(
        "--model", "-m", help="A masked LM: `default` (the bundled one), a local folder or a hub name."
    ),
]
Device = Annotated[str, typer.Option(help="Where to compute: auto, cuda, cuda:N, mps or cpu.")]
Dtype = Annotated[str, typer.Option(help="Number type: float32 or bfloat16.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON on stdout.")]


def print_json(value: Any) -> None:
    """Machine-readable output: JSON on stdout, and nothing else there."""
    typer.echo(json.dumps(value, indent=1, ensure_ascii=False))

"""``make results``: its commands exist, and what the documents quote comes from it."""

import json
import re
import shlex
import tomllib
from importlib import import_module
from subprocess import CalledProcessError

import click
import pytest
import typer

from experiments.__main__ import HERE, run, state
from experiments.common import code_digest, statements
from tests.pages import PAGES

PARTS = tomllib.loads((HERE / "parts.toml").read_text("utf-8"))


@pytest.mark.parametrize("file", PARTS)
def test_the_commands_of_a_part_can_be_parsed(file):
    for line in PARTS[file]:
        words = shlex.split(line.format(data="DATA", out="OUT", results="RESULTS"))
        name = words[0] if (HERE / words[0].replace(".", "/")).with_suffix(".py").exists() else f"{words[0]}.__main__"
        command = typer.main.get_command(import_module(f"experiments.{name}").app)
        own = command.commands[words[1]]
        with click.Context(own) as context:
            _, left, _ = own.make_parser(context).parse_args(args=words[2:])
        assert all(one.startswith("RESULTS/") for one in left)


def test_what_the_documents_quote_is_made_by_a_part():
    quoted = {
        link
        for page in PAGES
        for link in re.findall(r"/experiments/(\w+/results/[^)/\s]+\.json)", page.read_text("utf-8"))
    }
    assert quoted
    assert quoted - PARTS.keys() == set()


def test_the_state_of_a_part(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.__main__.HERE", tmp_path)
    command = ["results_of_a_test {out}"]
    assert state("one.json", command, tmp_path) == "missing"
    (tmp_path / "one.json").write_text(json.dumps({"version": "0.1", "code": "other"}))
    assert state("one.json", command, tmp_path) == "of version 0.1, other code"
    assert state("one.json", ["x {data}/models/none"], tmp_path) == "data missing"
    with pytest.raises(CalledProcessError):
        run("one.json", command, tmp_path)  # there is no such module
    (tmp_path / "one.json").write_text(json.dumps({"version": "0.2", "code": code_digest()}))
    assert state("one.json", command, tmp_path) == "done"


def test_comments_and_docstrings_are_not_part_of_the_code():
    source = 'def half(x):\n    """Half of x.\n\n    Rounded down.\n    """\n    # as in C\n    return x // 2\n'
    assert statements(source) == ["def half(x):", "    return x // 2"]

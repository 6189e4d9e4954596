"""``--help`` and shell completion: an example for every command, few options, panels, and true defaults."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from rarewords.cli.app import app
from rarewords.corpus.settings import CorpusSettings
from rarewords.ota.settings import OtaSettings
from rarewords.teaching.settings import TeachSettings
from tests.cli.run import rarewords

PANELS = {
    "Teach": ("teach", "scan", "demo", "serve"),
    "Inspect": ("ask", "words", "forget", "affected", "inject"),
    "Research": ("ota", "corpus", "mimic", "wnlampro"),
}
_MOST, _MOST_COMMON = 14, 8
_MORE = {"teach": 16}  # with the options of scan, which it contains


def commands(command, path=()):
    """Every command below a command with its path, without the groups."""
    members = getattr(command, "commands", None)
    if members is None:
        yield " ".join(path), command
        return
    for name, member in members.items():
        yield from commands(member, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(app)))


def options_of(name):
    return [one for one in COMMANDS[name].params if one.param_type_name == "option"]


def help_of(name, option):
    return next(one.help for one in COMMANDS[name].params if one.name == option)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_an_example_that_it_would_accept(name):
    lines = [line.strip() for line in COMMANDS[name].help.splitlines()]
    assert {"Example:", "Examples:"} & set(lines)
    examples = [line for line in lines if line.startswith("rarewords ")]
    assert examples
    for example in examples:
        words = shlex.split(example)[1:]
        path = name.split()
        assert words[: len(path)] == path
        COMMANDS[name].make_context(name, words[len(path) :])  # which parses; an unknown option is an error


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_about_a_dozen_options_and_few_common_ones(name):
    options = options_of(name)
    assert len(options) <= _MORE.get(name, _MOST)
    panels = [one.rich_help_panel for one in options]
    assert panels.count(None) <= _MOST_COMMON
    assert set(panels) <= {None, "Advanced"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_parameter_is_explained_and_a_flag_takes_no_value(name):
    for one in COMMANDS[name].params:
        assert one.help, one.name
        if one.param_type_name == "option" and isinstance(one.default, bool):
            assert one.is_flag, one.name
            assert not one.secondary_opts, one.name  # no --no-json beside --json


def test_the_panels_and_their_commands_in_order():
    shown = rarewords("--help").stdout
    places = [shown.index(f"─ {panel} ─") for panel in PANELS]
    assert places == sorted(places)
    for (_, names), start, end in zip(PANELS.items(), places, [*places[1:], None], strict=True):
        listed = [line.split()[1] for line in shown[start:end].splitlines() if line.startswith("│ ")]
        assert [word for word in listed if word in sum(PANELS.values(), ())] == list(names)
    assert {name.split()[0] for name in COMMANDS} == {name for names in PANELS.values() for name in names}


@pytest.mark.parametrize("name", ["teach", "corpus build", "wnlampro eval"])
def test_help_shows_its_panels_and_its_example(name):
    for flag in ("--help", "-h"):
        shown = rarewords(*name.split(), flag).stdout
        assert "─ Options ─" in shown
        assert "─ Advanced ─" in shown
        assert f"rarewords {name} " in shown.split("─ Options ─")[0].split("Example")[1]


def test_the_help_names_the_defaults_of_the_settings():
    teach, fast, paper = TeachSettings(), OtaSettings(), OtaSettings.preset("paper")
    for name in ("teach", "scan"):
        assert f"({teach.min_count})" in help_of(name, "min_count")
    assert f"({teach.top})" in help_of("teach", "top")
    assert f"({CorpusSettings().contexts})" in help_of("corpus build", "contexts")
    assert f"(`fast` {fast.steps}, `paper` {paper.steps})" in help_of("ota", "steps")


# Shell completion


def completed(*words):
    """What the shell is told for the last word of a command line."""
    asked = {"_RAREWORDS_COMPLETE": "complete_bash", "COMP_CWORD": str(len(words))}
    done = subprocess.run(
        [sys.executable, "-m", "rarewords"],
        env={**os.environ, **asked, "COMP_WORDS": " ".join(["rarewords", *words])},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(done.stdout.split())


def test_the_shell_completes_commands_options_and_choices():
    assert completed("te") == {"teach"}
    assert completed("corpus", "b") == {"build"}
    assert completed("teach", "--gl") == {"--glossary"}
    assert completed("teach", "--placement", "") == {"append", "replace"}


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_completes_with_the_script_that_the_program_prints():
    folder = Path(sys.executable).parent
    if not (folder / "rarewords").exists():
        pytest.skip("the command is not installed beside this Python")
    script = (
        'eval "$(_RAREWORDS_COMPLETE=source_bash rarewords)"; COMP_WORDS=(rarewords aff); COMP_CWORD=1; '
        '_rarewords_completion rarewords; echo "${COMPREPLY[@]}"; complete -p rarewords'
    )
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["affected", "complete -o default -F _rarewords_completion rarewords"]

"""``--help``: few options, the common ones in a panel of their own, and no value beside a flag."""

import tomllib
from importlib.resources import files

import pytest

from docs.making.commands import command_tree, walk
from rarewords.corpus.settings import CorpusSettings
from rarewords.ota.settings import OtaSettings
from rarewords.teaching.settings import TeachSettings
from tests.cli.run import rarewords

_MOST, _MOST_COMMON = 13, 8
_MORE = {"teach": 18}  # with the options of scan, which it contains
COMMANDS = {
    " ".join(path[1:]): command for path, command in walk(command_tree()) if not hasattr(command, "commands")
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_about_a_dozen_options_and_few_common_ones(name):
    options = [one for one in COMMANDS[name].params if one.param_type_name == "option"]
    assert len(options) <= _MORE.get(name, _MOST)
    panels = [one.rich_help_panel for one in options]
    assert panels.count(None) <= _MOST_COMMON
    assert set(panels) <= {None, "Advanced"}


def test_flags_take_no_value():
    for command in (["teach"], ["corpus", "build"], ["wnlampro", "eval"]):
        shown = rarewords(*command, "-h").stdout
        assert "--help" in shown
        assert "<bool>" not in shown
        assert "BOOL" not in shown


def test_the_help_names_the_defaults_of_the_settings():
    table = tomllib.loads((files("rarewords") / "cli" / "options.toml").read_text("utf-8"))
    teach, fast, paper = TeachSettings(), OtaSettings(), OtaSettings.preset("paper")
    assert f"({teach.min_count})" in table["teach"]["min_count"]["help"]
    assert f"({teach.top})" in table["teach"]["top"]["help"]
    assert f"({CorpusSettings().contexts})" in table["corpus build"]["contexts"]["help"]
    assert f"`fast` takes {fast.steps}, `paper` {paper.steps}." in table["ota"]["steps"]["help"]


def test_the_table_of_options_has_no_line_that_no_command_uses():
    table = tomllib.loads((files("rarewords") / "cli" / "options.toml").read_text("utf-8"))
    shared = table.pop("all")
    names = {command: {one.name for one in COMMANDS[command].params} for command in COMMANDS}
    assert {
        command: set(own) - names[command] for command, own in table.items() if set(own) - names[command]
    } == {}
    elsewhere = {command: own - set(table.get(command, ())) for command, own in names.items()}
    assert set(shared) <= set().union(*elsewhere.values())

"""``make results``: its commands exist, what the documents quote comes from it, and it says what is of which code."""

import json
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import click
import pytest
import typer

from experiments import code
from experiments.__main__ import HERE, Part, chosen_parts, read_parts, work_off
from experiments.code import code_digest, code_of, made_by_this_code, statements, used_modules
from experiments.common import Results
from tests.pages import PAGES, ROOT

PARTS = read_parts()
READMES = sorted(HERE.glob("*/**/README.md"))


@pytest.mark.parametrize("file", PARTS)
def test_the_commands_of_a_part_can_be_parsed(file):
    for _, _, module, *words in PARTS[file].commands(Path("DATA")):
        home = HERE / module.removeprefix("experiments.").replace(".", "/")
        found = import_module(module if home.with_suffix(".py").exists() else f"{module}.__main__")
        if not words:
            continue
        command = typer.main.get_command(found.app) if hasattr(found, "app") else one_command(found.main)
        if hasattr(command, "commands"):
            command, *words = command.commands[words[0]], *words[1:]
        with click.Context(command) as context:
            command.make_parser(context).parse_args(args=list(words))


def one_command(function):
    app = typer.Typer()
    app.command()(function)
    return typer.main.get_command(app)


def test_what_the_documents_quote_is_made_by_a_part():
    quoted = {
        link
        for page in PAGES
        for link in re.findall(r"/experiments/(\w+/results/[^)/\s]+\.json)", page.read_text("utf-8"))
    }
    assert quoted
    own = {
        (page.parent / link).resolve().relative_to(HERE).as_posix()
        for page in READMES
        for link in re.findall(r"\]\(((?:\.\./)*[\w/.-]*results/[^)\s]+\.json)\)", page.read_text("utf-8"))
    }
    assert own
    assert (quoted | own) - PARTS.keys() == set()


def test_every_results_file_is_made_by_a_part():
    tracked = subprocess.run(
        ["git", "ls-files", "experiments/*.json", "experiments/*.jsonl"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    files = {file.removeprefix("experiments/") for file in tracked if "/results/" in file and (ROOT / file).exists()}
    folders = tuple(str(Path(file).parent) + "/" for file in PARTS if file.startswith("paper/"))
    assert {file for file in files if not file.startswith(folders)} - PARTS.keys() == set()


def test_what_a_part_needs_stands_before_it():
    order = list(PARTS)
    assert all(order.index(need) < order.index(file) for file, part in PARTS.items() for need in part.needs)


def test_a_file_is_of_this_code_while_the_modules_that_made_it_are_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(code, "_HOME", tmp_path)
    used, other = tmp_path / "used.py", tmp_path / "other.py"
    used.write_text("a = 1\n")
    other.write_text("b = 1\n")
    file = tmp_path / "one.json"
    file.write_text(json.dumps(code_of(["used.py"])))
    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps(code_of(["used.py", "other.py"])) + '\n{"word": "kumquat"}\n')

    def states():
        code._statements_of.cache_clear()
        return made_by_this_code(file), made_by_this_code(lines)

    assert states() == (True, True)
    used.write_text("# a comment\na = 1\n")
    assert states() == (True, True)
    other.write_text("b = 2\n")
    assert states() == (True, False)
    used.unlink()
    assert states() == (False, False)
    assert not made_by_this_code(tmp_path / "none.json")


def test_a_process_names_the_modules_that_it_has_imported(tmp_path):
    script = "from experiments.code import used_modules\nfrom rarewords.errors import InputError\nprint(used_modules())"
    found = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['__init__.py', 'errors.py']"
    assert {"lm.py", "wnlampro/dataset.py"} <= set(used_modules())
    Results(tmp_path / "one.json", "a test", None).show()
    written = json.loads((tmp_path / "one.json").read_text("utf-8"))
    assert written["code"] == code_digest(written["modules"].split())
    assert "lm.py" in written["modules"].split()


def test_what_is_made_from_results_names_their_modules_and_refuses_other_code(tmp_path):
    source, out = tmp_path / "source.json", tmp_path / "out.json"
    source.write_text(json.dumps(code_of(["cli/app.py"])))
    Results(out, "a test", None, [source]).show()
    assert "cli/app.py" in json.loads(out.read_text("utf-8"))["modules"].split()
    source.write_text(json.dumps(code_of(["cli/app.py"]) | {"code": "0" * 16}))
    with pytest.raises(SystemExit):
        Results(out, "a test", None, [source]).show()


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """Four parts that write their files with small scripts: one fails, one needs the failed one."""
    monkeypatch.setattr("experiments.__main__.HERE", tmp_path)
    monkeypatch.setattr("experiments.__main__.LOGS", tmp_path / "logs")
    (tmp_path / "data").mkdir()

    def commands(self, _):
        return [[sys.executable, "-c", line] for line in self.run]

    monkeypatch.setattr(Part, "commands", commands)

    def write(file):
        return f"import pathlib; pathlib.Path({str(tmp_path / file)!r}).write_text({json.dumps(code_of([]))!r})"

    check = f"import pathlib; assert pathlib.Path({str(tmp_path / 'work/first.json')!r}).exists()"
    made = [
        Part("bad.json", ("print('no') or 1 / 0",), "cpu", 1),
        Part("work/first.json", (write("work/first.json"),), "cpu", 1),
        Part("last.json", (check, write("last.json")), "gpu", 1, ("work/first.json",)),
        Part("without.json", ("1",), "cpu", 1, ("bad.json",)),
    ]
    return {part.file: part for part in made}


def test_parts_run_side_by_side_after_what_they_need_and_a_failure_stops_no_other(parts, tmp_path, capsys):
    data = tmp_path / "data"
    chosen = chosen_parts(parts, (), None, data)
    assert [part.file for part in chosen] == list(parts)
    failed = work_off(chosen, parts, data, 3)
    assert {part.file for part in failed} == {"bad.json", "without.json"}
    assert "ZeroDivisionError" in (tmp_path / "logs" / "bad.json.log").read_text("utf-8")
    states = {part.file: part.state(data) for part in parts.values()}
    assert [file for file, state in states.items() if state == "done"] == ["work/first.json", "last.json"]
    assert "left out without bad.json" in capsys.readouterr().out
    (tmp_path / "work" / "first.json").unlink()
    assert "last.json" in {part.file for part in chosen_parts(parts, ("last",), None, data)}
    assert "work/first.json" not in {part.file for part in chosen_parts(parts, (), None, data)}  # last.json is done
    assert [part.file for part in chosen_parts(parts, (), "gpu", data)] == ["last.json"]


def test_what_is_stopped_leaves_no_process(tmp_path):
    script = f"""
import sys
from pathlib import Path
from experiments import __main__ as runner
runner.HERE = runner.LOGS = Path({str(tmp_path)!r})
slow = "import os, pathlib, time; pathlib.Path({str(tmp_path / "pid")!r}).write_text(str(os.getpid())); time.sleep(60)"
runner.Part.commands = lambda *_: [[sys.executable, "-c", slow]]
part = runner.Part("slow.json", ("slow",), "cpu", 1)
runner.work_off([part], {{part.file: part}}, Path("data"), 1)
"""
    runner = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.DEVNULL)
    for _ in range(600):
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            break
        time.sleep(0.1)
    child = Path("/proc") / (tmp_path / "pid").read_text() / "stat"
    runner.send_signal(signal.SIGTERM)
    assert runner.wait(30) != 0
    time.sleep(0.5)
    assert not child.exists() or ") Z " in child.read_text()  # nobody may have asked how it ended


def test_the_state_of_a_part(tmp_path, monkeypatch):
    monkeypatch.setattr("experiments.__main__.HERE", tmp_path)
    part = Part("one.json", ("x {data}/models",), "gpu", 1)
    assert part.state(tmp_path) == "data missing"
    (tmp_path / "models").mkdir()
    assert part.state(tmp_path) == "missing"
    (tmp_path / "one.json").write_text(json.dumps({"version": "0.1", "code": "other"}))
    assert part.state(tmp_path) == "of version 0.1, other code"
    (tmp_path / "one.json").write_text(json.dumps(code_of(["lm.py"])))
    assert part.state(tmp_path) == "done"


def test_comments_and_docstrings_are_not_part_of_the_code():
    source = 'def half(x):\n    """Half of x.\n\n    Rounded down.\n    """\n    # as in C\n    return x // 2\n'
    assert statements(source) == ["def half(x):", "    return x // 2"]

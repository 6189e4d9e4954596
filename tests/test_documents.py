"""The documents: links lead somewhere, the commands and names they mention exist, the README's code runs."""

import re
from pathlib import Path

import pytest

import rarewords
from tests.cli.run import rarewords as run

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/rarewords/assets/*/README.md")]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_pictures_lead_to_files(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.S)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_every_public_name_is_there():
    for name in rarewords.__all__:
        assert getattr(rarewords, name) is not None


def test_the_commands_of_the_readme_exist():
    blocks = "".join(re.findall(r"```\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S))
    commands = set(re.findall(r"^rarewords (\w+)(?: +(build|train|infer|eval))?", blocks, re.M))
    assert ("wnlampro", "eval") in commands
    for command, action in commands:
        shown = run(*[part for part in (command, action) if part], "--help").stdout
        assert "Usage: rarewords" in shown


def test_the_python_code_of_the_readme_runs(tmp_path, monkeypatch):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S).group(1)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "taught" / "model.safetensors").is_file()

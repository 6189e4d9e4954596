"""The documents: links lead somewhere, what they name exists, and the site builds. Other files run their code."""

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from functools import cache
from itertools import chain

import pytest
import typer

from rarewords import CorpusSettings, LearnerSettings, MimicSettings, OtaSettings, TeachSettings, __version__
from rarewords.cli.app import app
from rarewords.wnlampro import EvalSettings
from tests.fuzz.tally import FINDINGS
from tests.pages import PAGES, ROOT, arguments_of, blocks, check, run_python

HOME = ROOT / "src" / "rarewords"
COMMANDS = typer.main.get_command(app)
SETTINGS = (CorpusSettings, EvalSettings, LearnerSettings, MimicSettings, OtaSettings, TeachSettings)
NAMES = {field.name for settings in SETTINGS for field in fields(settings)}
CARDS = [*ROOT.glob("src/rarewords/assets/*/README.md"), ROOT / "examples/space/README.md"]
# A file of this repository, and a picture of it as an image of a page.
_OURS = re.compile(r"https://(?:github|raw\.githubusercontent)\.com/rarewords/rarewords/(?:blob/)?main/(.+)")
_MOST_WORDS = 22_000
_MOST_NOT_RUN = 16


def name(page):
    return str(page.relative_to(ROOT))


@cache
def prose(page):
    """A page without its code blocks."""
    return re.sub(r"^(`{3,}).*?^\1[ \t]*$", "", page.read_text("utf-8"), flags=re.M | re.S)


def anchors(page):
    """The anchors of a page's headings, as GitHub and Sphinx make them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.M)
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in titles)
    return {title.replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", [*PAGES, *CARDS], ids=name)
def test_links_lead_to_files_and_headings(page):
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        ours = _OURS.match(link)
        if "://" in link and not ours:
            continue
        path, _, anchor = (ours[1] if ours else link).partition("#")
        target = (ROOT if ours else page.parent) / path if path else page
        if not target.is_file() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_the_readme_works_on_pypi_which_has_no_other_files():
    links = re.findall(r"\]\(([^)\s]+)\)", prose(ROOT / "README.md"))
    assert [link for link in links if "://" not in link] == []
    assert any(_OURS.match(link) for link in links)


@pytest.mark.slow
def test_every_page_is_in_the_site_and_it_builds_without_a_warning(tmp_path):
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", ROOT / "docs", tmp_path / "site"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    built = {path.relative_to(tmp_path / "site").with_suffix(".md") for path in tmp_path.glob("site/**/*.html")}
    assert {page.relative_to(ROOT / "docs") for page in PAGES if page.name != "README.md"} <= built
    reference = (tmp_path / "site/reference/python.html").read_text("utf-8")
    assert 'id="rarewords.teach"' in reference
    assert "--glossary" in (tmp_path / "site/reference/cli.html").read_text("utf-8")


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_the_documents_are_short():
    assert sum(len(prose(page).split()) for page in PAGES if "reference" not in page.parts) <= _MOST_WORDS


def test_few_blocks_are_not_run():
    reasons = [block.not_run for page in PAGES for block in blocks(page) if block.not_run]
    assert len([reason for reason in reasons if reason != "installs packages"]) <= _MOST_NOT_RUN


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs/research/benchmarks.md"], ids=name)
def test_numbers_in_tables_are_those_of_the_results_file_in_their_row(page):
    linked = re.findall(r"^\|.*\b(experiments/[\w/.-]+\.json).*$", prose(page), re.M)
    lines = re.findall(r"^\|.*\bexperiments/[\w/.-]+\.json.*$", prose(page), re.M)
    assert len(linked) >= 4
    for file, line in zip(linked, lines, strict=True):
        rows = json.loads((ROOT / file).read_text("utf-8"))["rows"]
        means = {digits(value) for row in rows for value in row.values() if isinstance(value, float)}
        changes = {(digits(row["change"]), *map(digits, row["interval"])) for row in rows if "change" in row}
        assert set(re.findall(r"\| (\d\.\d{3}) ", line)) <= means, line
        for change, low, high in re.findall(r"[+−](\d\.\d{3}) \[[+−](\d\.\d{3}), [+−](\d\.\d{3})\]", line):
            # What "none" loses against "all", "all" gains against "none".
            assert {(change, low, high), (change, high, low)} & changes, line


def test_the_numbers_of_fuzzing_are_those_of_its_results_file():
    rows = json.loads((ROOT / "benchmarks/results/fuzz.json").read_text("utf-8"))["rows"]
    inputs = {row["kind"]: row["inputs"] for row in rows}
    models = inputs["model folders"] + inputs["models"]
    shown = f"{sum(inputs.values()):,} damaged inputs, {models:,} of which are whole model folders"
    assert shown in " ".join((ROOT / "SECURITY.md").read_text("utf-8").split())
    assert sum(inputs.values()) >= 10_000
    assert models >= 4_000
    assert sum(row[sort] for row in rows for sort in FINDINGS) == 0


def digits(value):
    """A number as tables show it, without its sign."""
    return f"{abs(value):.3f}"


def command_lines(page):
    """Every command line that starts with ``rarewords``: in blocks that are not run, and in the text."""
    for block in blocks(page):
        if block.not_run and block.language == "bash":
            for line in re.sub(r"\s*\\\n\s*", " ", block.text).splitlines():
                words = arguments_of(line)
                if words[:1] == ["rarewords"]:
                    yield words[1:]
    for code in re.findall(r"`(rarewords [^`]+)`", prose(page)):
        yield code.split()[1:]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_that_are_not_run_exist_with_their_options(page):
    for words in command_lines(page):
        shown, command = " ".join(words), COMMANDS
        while words and words[0] in getattr(command, "commands", {}):
            command, words = command.commands[words[0]], words[1:]
        assert command is not COMMANDS or words[0].startswith("-"), shown
        assert options_of(words) <= known_options(command), shown


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_options_and_settings_in_the_text_exist(page):
    every = known_options(COMMANDS)
    for code in re.findall(r"`([^`]+)`", prose(page)):
        if code.startswith("--"):
            assert options_of(code.split()) <= every, code
        for setting in re.findall(r"--set ([a-z_]+)=", code):
            assert setting in NAMES, code


def options_of(words):
    return {word.partition("=")[0] for word in words if word.startswith("--")}


def known_options(command):
    """The options of a command and of those below it."""
    found = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    below = getattr(command, "commands", {}).values()
    return found.union({"--help", "--install-completion"}, *map(known_options, below))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_settings_files_have_known_settings(page):
    for block in blocks(page):
        if block.language == "toml":
            given = set(tomllib.loads(block.text))
            assert any(given <= {field.name for field in fields(one)} for one in SETTINGS), given


def test_the_reference_lists_the_commands_that_take_settings():
    page = (ROOT / "docs/reference/files.md").read_text("utf-8")
    listed = re.findall(r"^\| (`.*`) \| `(\w+)` \|$", page, re.M)
    assert {kind for _, kind in listed} == {one.__name__ for one in SETTINGS}
    for commands, _ in listed:
        for words in re.findall(r"`([^`]+)`", commands):
            command = COMMANDS
            for word in words.split():
                command = command.commands[word]
            assert "--set" in known_options(command), words


def test_the_troubleshooting_page_explains_every_error_code():
    codes = set()
    for file in HOME.rglob("*.py"):
        codes |= set(re.findall(r'\bcode="([a-z-]+)"', file.read_text("utf-8")))
    page = (ROOT / "docs/troubleshooting.md").read_text("utf-8").split("## Error codes")[1]
    assert re.findall(r"^\| `([a-z-]+)` \|", page, re.M) == sorted(codes)


def test_the_architecture_names_every_file_and_no_other():
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    named = re.findall(r"^\| `([\w/]+\.py)` \|", page, re.M)
    assert sorted(named) == sorted(str(path.relative_to(HOME)) for path in HOME.rglob("*.py"))


def test_the_architecture_sends_a_change_to_at_most_two_files():
    section = (ROOT / "docs/architecture.md").read_text("utf-8").split("## Where do I change")[1]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) >= 8
    for row in rows:
        files = set(re.findall(r"`([\w/]+\.(?:py|toml))`", row))
        assert 1 <= len(files) <= 2, row
        assert all((HOME / file).is_file() for file in files), row


def test_the_dependencies_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    listed = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    wanted = {re.match(r"[\w-]+", one)[0] for one in listed} - {"rarewords"}
    rows = re.findall(r"^\| (?!Package|Extra|---)(.+) \|$", (ROOT / "docs/dependencies.md").read_text("utf-8"), re.M)
    named = {one for row in rows for one in re.findall(r"[a-z][\w-]+", row.rpartition(" | ")[0])}
    assert named - set(project["optional-dependencies"]) == wanted - set(project["optional-dependencies"])


def test_the_version_is_the_same_everywhere():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"] == __version__
    assert f"\nversion: {__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\n## {__version__} (" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_the_runner_finds_a_wrong_value():
    run_python("2 + 2  # 4\nprint('a')  # 'a'\n[0.501]  # [0.5]\n", {}, "")
    with pytest.raises(AssertionError):
        run_python("2 + 2  # 5", {}, "")
    with pytest.raises(AssertionError):
        check("", "12 words\nmore", "13 words\nmore")
    check("", "one\ntwo 0.51\nthree", "one\n…\nthree")

"""The documents: links work, commands and code run, the reference and the architecture are current."""

import re
import shlex
import tomllib
from dataclasses import fields
from functools import cache
from pathlib import Path

import pytest

import rarewords
from docs.build import REFERENCE
from docs.making.commands import command_tree
from docs.making.links import broken_links
from docs.making.site import build_site, heading_anchors, markdown_parser, slug
from rarewords.corpus.settings import CorpusSettings
from rarewords.mimic.settings import LearnerSettings, MimicSettings
from rarewords.ota.settings import OtaSettings
from rarewords.probe.evaluate import EvalSettings
from rarewords.teaching.settings import TeachSettings
from tests.cli.run import rarewords as run

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/rarewords/assets/*/README.md")]
)
COMMANDS = command_tree()
SETTINGS = (CorpusSettings, LearnerSettings, MimicSettings, OtaSettings, EvalSettings, TeachSettings)


def name(page):
    return str(page.relative_to(ROOT))


@cache
def tokens_of(page):
    """All tokens of a page, including those inside paragraphs and cells."""
    tokens = markdown_parser().parse(page.read_text("utf-8"))
    return [part for token in tokens for part in (token, *(token.children or ()))]


@cache
def anchors_of(page):
    return heading_anchors(page.read_text("utf-8"))


def code_blocks(page, *languages):
    return [token.content for token in tokens_of(page) if token.type == "fence" and token.info in languages]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_and_headings(page):
    broken = []
    for token in tokens_of(page):
        link = token.attrs.get("href") or token.attrs.get("src")
        if not link or "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


def test_the_site_has_every_page_and_no_broken_link(tmp_path):
    pages = build_site(ROOT, tmp_path / "site")
    assert {ROOT / page.source for page in pages} == set(PAGES) - {ROOT / "README.md"}
    assert broken_links(tmp_path / "site") == []
    assert "<math" in (tmp_path / "site" / "concepts.html").read_text("utf-8")


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html">b</a> <a href="#x">x</a> <p id="y"><a href="#y">y</a>')
    assert broken_links(tmp_path) == ["a.html: b.html", "a.html: #x"]


def test_anchors_are_those_of_github():
    seen = set()
    titles = ["Why, and `how`?", "Words & sentences", "Words & sentences"]
    assert [slug(title, seen) for title in titles] == [
        "why-and-how",
        "words--sentences",
        "words--sentences-1",
    ]


def test_the_architecture_names_every_file_and_no_other():
    home = ROOT / "src" / "rarewords"
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    named = set(re.findall(r"^\| `([\w/]+\.py)` \|", page, re.M))
    assert named == {str(path.relative_to(home)) for path in home.rglob("*.py")}


def test_the_architecture_sends_a_change_to_at_most_two_files_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    section = page.split("## Where do I change")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) == 8
    for row in rows:
        files = set(re.findall(r"`([\w/]+\.(?:py|toml))`", row))
        assert 1 <= len(files) <= 2
        assert all((ROOT / "src" / "rarewords" / file).is_file() for file in files), row


@pytest.mark.parametrize("page", sorted(REFERENCE))
def test_the_reference_is_that_of_the_code(page, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")  # a narrow terminal changes nothing
    committed = (ROOT / "docs" / "reference" / page).read_text("utf-8")
    assert REFERENCE[page]() == committed, "run `make docs` and commit docs/reference"


def test_every_public_name_is_in_the_reference():
    anchors = anchors_of(ROOT / "docs/reference/api.md")
    for public in rarewords.__all__:
        assert getattr(rarewords, public) is not None
        assert public.lower() in anchors or public == "__version__"


def shown_commands(page):
    """The lines of a page's blocks that start with the command, without the comments behind them."""
    for block in code_blocks(page, "", "bash", "console"):
        for line in re.sub(r"\s*\\\n\s*", " ", block).splitlines():
            found = re.match(r"\s*(?:\$ )?(rarewords .*)", line)
            if found:
                yield re.split(r"\s{3,}|\s#\s|\s&$|\s\|\s|\s>\s", found.group(1))[0].strip()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_commands_in_blocks_can_be_given(page):
    for line in shown_commands(page):
        parse(shlex.split(line)[1:], line)


def named_commands(page):
    """The commands that the text of a page names, as lists of words: `rarewords scan`, `teach --slash`."""
    if page.name == "report.md":  # records the command of its run, which may be older than the program
        return
    for token in tokens_of(page):
        if token.type == "code_inline":
            first, *rest = token.content.split() or [""]
            if first == "rarewords" and rest:
                yield [word for word in rest if word not in ("…", "-q", "--quiet")]
            # Pages of results also name what was removed.
            elif first in COMMANDS.commands and rest and "results" not in page.parts:
                yield [first, *rest]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_commands_in_the_text_exist(page):
    for words in named_commands(page):
        shown, command = " ".join(words), COMMANDS
        while words and getattr(command, "commands", None) and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        at_the_top = command is COMMANDS
        assert not words or not at_the_top or words[0] in ("COMMAND", "--version"), shown
        options = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
        unknown = [word for word in words if word.startswith("--") and word not in options | {"--help"}]
        assert unknown == [], shown


def parse(arguments, line):
    """Parse as the program would, without running anything."""
    command = COMMANDS
    while arguments and arguments[0] in ("-q", "--quiet"):
        arguments = arguments[1:]
    while arguments and arguments[0] in getattr(command, "commands", {}):
        command, arguments = command.commands[arguments[0]], arguments[1:]
    if command is COMMANDS:
        assert arguments in (["--help"], ["--version"]), line
        return
    try:
        command.make_context("rarewords", list(arguments))
    except Exception as error:  # the class depends on typer's version
        pytest.fail(f"{line}: {error.format_message() if hasattr(error, 'format_message') else error!r}")


def test_a_wrong_option_in_a_block_is_found():
    with pytest.raises(pytest.fail.Exception, match="No such option"):
        parse(["teach", "a.txt", "--out", "b", "--mixx", "slash"], "")
    with pytest.raises(pytest.fail.Exception, match="--out"):
        parse(["corpus", "build", "a.txt"], "")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_settings_files_in_the_documents_have_known_settings(page):
    for block in code_blocks(page, "toml"):
        given = set(tomllib.loads(block))
        assert any(given <= {field.name for field in fields(settings)} for settings in SETTINGS), block


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_the_python_code_is_python_and_its_imports_exist(page):
    for block in code_blocks(page, "python"):
        if ">>>" in block or "reference" in page.parts:
            continue
        compile(block, name(page), "exec")
        imports = [
            line for line in block.splitlines() if re.match(r"(from rarewords|import rarewords)", line)
        ]
        exec("\n".join(imports), {})


def test_the_python_code_of_the_readme_runs_and_gives_the_answers_shown(tmp_path, monkeypatch):
    code = next(block for block in code_blocks(ROOT / "README.md", "python") if "WordLearner" in block)
    shown = re.findall(r"^(lm\.fill.*?)  # (\[.*\])$", code, re.M)
    assert len(shown) == 2
    for expression, answers in shown:
        code = code.replace(f"{expression}  # {answers}", f"assert {expression} == {answers}")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "taught-oldanka" / "model.safetensors").is_file()


def test_the_tutorial_shows_what_its_commands_print(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(code_blocks(ROOT / "docs" / "tutorial.md", "python")[0], {})
    compared = 0
    for block in code_blocks(ROOT / "docs" / "tutorial.md", "console"):
        for part in block.split("$ ")[1:]:
            line, _, shown = part.partition("\n")
            # The output of other commands depends on the last digits, which differ between machines.
            if line.startswith(("rarewords scan", "rarewords corpus")):
                assert run(*shlex.split(line)[1:]).stdout == shown
                compared += 1
    assert compared == 3

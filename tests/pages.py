"""Runs the code of a page exactly as it is printed, in one folder, from top to bottom.

* ``bash`` blocks run in bash; ``console`` blocks have a ``$`` before each command and its output below it, where
  ``…`` stands for anything and decimals may differ a little;
* ``python`` blocks share their names; a comment behind an expression, ``2 + 2  # 4``, is its value or what it prints;
* a ``{code-block}`` with a caption is a file of that name;
* a block below ``<!-- not run: REASON -->`` is left alone.

The command ``rarewords`` is a small program that hands its arguments to this process, where torch and the bundled
model are loaded already.
"""

import ast
import io
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import tokenize
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

from rarewords import LanguageModel
from rarewords._internal.engine import one_thread
from rarewords.cli.app import main
from tests.cli.run import loaded

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "results" not in page.relative_to(ROOT).parts),
]
_FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})(?P<language>[^\n`]*)\n(?P<text>.*?)^(?P=mark)[ \t]*$", re.M | re.S)
_NOT_RUN = re.compile(r"<!-- not run: (.+?) -->\s*\Z")
_OPTION = re.compile(r"^:(\w+): (.*)\n", re.M)
_NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.\d+)?")
_CLIENT = """#!{python} -SE
import json, socket, sys
with socket.socket(socket.AF_UNIX) as link:
    link.connect({address!r})
    import os
    piped = sys.stdin.read() if "-" in sys.argv else ""
    link.sendall(json.dumps([sys.argv[1:], os.getcwd(), piped]).encode())
    link.shutdown(socket.SHUT_WR)
    with link.makefile() as answer:
        code, out, err = json.load(answer)
sys.stdout.write(out), sys.stderr.write(err)
sys.exit(code)
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the name of the file it shows, and why it is not run."""

    language: str
    text: str
    file: str = ""
    not_run: str = ""


def blocks(page):
    """The fenced blocks of a page."""
    written, found = page.read_text("utf-8"), []
    for fence in _FENCE.finditer(written):
        language, text, name = fence["language"].strip(), fence["text"], ""
        if language.startswith("{code-block}"):
            name = dict(_OPTION.findall(text)).get("caption", "")
            language, text = language.split()[-1], _OPTION.sub("", text).lstrip("\n")
        reason = _NOT_RUN.search(written[: fence.start()])
        found.append(Block(language, text, name, reason[1] if reason else ""))
    return found


def run_page(page, folder):
    """Run every block of a page in a folder that holds nothing else."""
    with Shell(folder) as shell, one_thread(), patch.object(LanguageModel, "from_pretrained", loaded):
        names = {"__name__": "__main__"}
        for block in blocks(page):
            if block.not_run:
                continue
            if block.file:
                (folder / block.file).write_text(block.text, "utf-8")
            elif block.language == "bash":
                shell.run(block.text)
            elif block.language == "console":
                for command in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
                    line, _, shown = command.partition("\n")
                    check(line, shell.run(line), shown)
            elif block.language == "python":
                run_python(block.text, names, page.name)


def run_python(code, names, page):
    """Run Python; every expression with a value in a comment behind it must have that value."""
    comments = {
        token.start[0]: token.string.lstrip("# ").strip()
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type == tokenize.COMMENT
    }
    for statement in ast.parse(code).body:
        expected = comments.get(statement.end_lineno, "")
        if not isinstance(statement, ast.Expr) or not _is_value(expected):
            exec(compile(ast.Module([statement], []), page, "exec"), names)
            continue
        out = io.StringIO()
        with redirect_stdout(out):
            value = eval(compile(ast.Expression(statement.value), page, "eval"), names)
        found = repr(out.getvalue().rstrip("\n")) if value is None else repr(value)
        check(ast.unparse(statement), found, expected)


def _is_value(text):
    with suppress(ValueError, SyntaxError):
        ast.literal_eval(text.replace("…", "..."))
        return True
    return False


def check(what, found, shown):
    """Compare output with what a page shows of it; decimals may differ by a tenth."""
    pattern, start = "", 0
    plain = [" ".join(re.sub("[━─]+", "─", text).split()) for text in (found, shown)]
    if not plain[1]:
        return
    for number in _NUMBER.finditer(plain[1]):
        pattern += re.escape(plain[1][start : number.start()]) + f"({_NUMBER.pattern})"
        start = number.end()
    pattern = (pattern + re.escape(plain[1][start:])).replace("…", ".*")
    same = re.fullmatch(pattern, plain[0], re.S)
    assert same, f"{what}\nprinted\n{found}\nbut the page shows\n{shown}"
    for wanted, given in zip(_NUMBER.findall(plain[1]), same.groups(), strict=True):
        same = "." in wanted and float(given) == pytest.approx(float(wanted), rel=0.1, abs=0.05)
        assert same or given == wanted, f"{what}\nprinted {given} but the page shows {wanted}"


class Shell:
    """Bash in a folder, with a command ``rarewords`` that runs in this process."""

    def __init__(self, folder):
        self.folder = folder

    def __enter__(self):
        self._before = Path.cwd()
        os.chdir(self.folder)
        self._programs = tempfile.TemporaryDirectory()  # in the page's folder, the socket's name may get too long
        programs = Path(self._programs.name)
        address = str(programs / "socket")
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(address)
        self._server.listen()
        self._server.settimeout(0.05)
        client = programs / "rarewords"
        client.write_text(_CLIENT.format(python=sys.executable, address=address), "utf-8")
        client.chmod(0o755)
        path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._environment = os.environ | {"PATH": path, "COLUMNS": "90"}
        return self

    def __exit__(self, *_):
        os.chdir(self._before)
        self._server.close()
        self._programs.cleanup()

    def run(self, code):
        """Run lines of bash; fails if one of them fails. Returns what they print."""
        with subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", code],
            env=self._environment, cwd=self.folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        ) as bash:  # fmt: skip
            while bash.poll() is None:
                with suppress(TimeoutError):
                    link, _ = self._server.accept()
                    with link:
                        link.settimeout(None)
                        _serve(link)
            out = bash.stdout.read()
        assert bash.returncode == 0, f"{code}\nexit code {bash.returncode}\n{out}"
        return out


def _serve(link):
    """Run one command line that a client sends."""
    with link.makefile("r") as stream:
        arguments, folder, piped = json.load(stream)
    out, err, code, before = io.StringIO(), io.StringIO(), 0, Path.cwd()
    standard_input = io.TextIOWrapper(io.BytesIO(piped.encode()))
    os.chdir(folder)
    try:
        with (
            redirect_stdout(out),
            redirect_stderr(err),
            patch.object(sys, "argv", ["rarewords", *arguments]),
            patch.object(sys, "stdin", standard_input),
            patch.dict(os.environ, COLUMNS="90"),
        ):
            main()
    except SystemExit as stop:
        code = stop.code or 0
    finally:
        os.chdir(before)
    shown = "" if code == 0 else err.getvalue()  # progress is not shown on a page
    link.sendall(json.dumps([code, out.getvalue(), shown]).encode())


@contextmanager
def hub(folder):
    """A cache of the hub with small stand-ins for the models that the pages name; the hub itself is not asked."""
    from huggingface_hub import constants

    for name, make in _STAND_INS.items():
        home = folder / f"models--{name.replace('/', '--')}"
        snapshot = home / "snapshots" / "main"
        snapshot.mkdir(parents=True)
        (home / "refs").mkdir()
        (home / "refs" / "main").write_text("main")
        make(snapshot)
    with patch.multiple(constants, HF_HUB_CACHE=str(folder), HF_HUB_OFFLINE=True):
        yield


def _masked(folder):
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    from rarewords.models import bundled_model

    AutoModelForMaskedLM.from_pretrained(bundled_model(), num_hidden_layers=3).save_pretrained(folder)
    AutoTokenizer.from_pretrained(bundled_model()).save_pretrained(folder)


def _encoder(folder):
    from tests.architectures import sentence_transformer

    sentence_transformer(folder)


def _causal(folder):
    from tests.architectures import small_causal

    for part in small_causal("llama"):
        part.save_pretrained(folder)


_STAND_INS = {
    "google-bert/bert-base-uncased": _masked,
    "sentence-transformers/all-MiniLM-L6-v2": _encoder,
    "HuggingFaceTB/SmolLM2-135M": _causal,
}


def arguments_of(line):
    """The words of a command line without comments, redirections and what follows a pipe."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split, lexer.commenters = True, "#"
    words = []
    for word in lexer:
        if word[0] in "|&;<>":
            break
        words.append(word)
    return words

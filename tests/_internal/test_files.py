"""Files and folders that appear whole, on systems with and without the locks of Unix."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rarewords
from rarewords._internal.files import require_folder, whole_folder
from tests.errors import refused_with

_ONLY_ON_UNIX = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
_WITHOUT_FCNTL = """
import sys
sys.modules["fcntl"] = None  # importing it fails, as on Windows
from rarewords.cli.app import main
main()
"""


def test_no_module_needs_unix():
    found = {}
    for path in Path(rarewords.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            found |= {name: path.name for name in names if name in _ONLY_ON_UNIX}
    assert found == {}


def test_a_command_works_without_the_locks_of_unix_and_leaves_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("A ripe kumquat.\n")
    (tmp_path / "empty.txt").touch()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for name, code in (("empty", 2), ("a", 0)):
        given = ("-q", "corpus", "build", tmp_path / f"{name}.txt", "--out", tmp_path / "corpus", "--workers", "1")
        done = subprocess.run([sys.executable, "-c", _WITHOUT_FCNTL, *given], env=environment, capture_output=True)
        assert done.returncode == code, done.stderr.decode()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", *["corpus"] * (code == 0), "empty.txt"]


def test_an_empty_folder_is_replaced_and_files_follow_the_umask(tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    with whole_folder(target) as folder:
        (folder / "private").touch(mode=0o600)
        assert list(target.iterdir()) == []
    mask = os.umask(0)
    os.umask(mask)
    assert [path.stat().st_mode & 0o777 for path in (target, target / "private")] == [0o777 & ~mask, 0o666 & ~mask]
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("path", ["/", ".", "./"])
def test_a_folder_that_cannot_be_replaced_is_refused(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused_with("output"):
        require_folder(Path(path), empty=True)

"""Good files of every kind, made once, and the one property that every command must have on bad ones."""

import faulthandler
import io
import os
import resource
import shutil
import stat
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, settings
from hypothesis.errors import HypothesisException

from rarewords.cli.app import main
from tests.architectures import real_text, small_model
from tests.cli.run import rarewords
from tests.conftest import MOST_SECONDS
from tests.fuzz.tally import FindingError, tally

# `make fuzz` sets this: the number of inputs of all tests together, then drawn at random.
EXAMPLES = int(os.environ.get("RAREWORDS_FUZZ", "0"))
_IN_THE_SUITE = 100
_TEXT = "\n".join(real_text()[:60_000].splitlines()[:-1]) + "\n" + "A ripe kumquat is a small fruit.\n" * 8


def examples(share):
    """How many inputs a test tries: its share, in percent, of all. ``make fuzz`` goes on after a finding."""
    chosen = settings(
        max_examples=max(1, round((EXAMPLES or _IN_THE_SUITE) * share / 100)),
        derandomize=not EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        print_blob=True,
    )

    def counted(test):
        kind = test.__name__.removeprefix("test_").replace("_", " ")
        test.hypothesis.inner_test = tally.counting(kind, test.hypothesis.inner_test, go_on=EXAMPLES > 0)
        return chosen(test)

    return counted


@contextmanager
def place_in(folder):
    """A new folder for one input; ``make fuzz`` keeps it if something was found."""
    place, keep = Path(tempfile.mkdtemp(dir=folder)), False
    try:
        yield place
    except Exception as error:
        keep = EXAMPLES > 0 and not isinstance(error, HypothesisException)
        raise
    finally:
        if not keep:
            shutil.rmtree(place)


class Bench:
    """A folder with a small model, text, corpus, embeddings, learner, mimic model, data set and results."""

    def __init__(self, folder):
        self.folder = folder
        model, tokenizer = small_model("bert")
        model.save_pretrained(folder / "model")
        tokenizer.save_pretrained(folder / "model")
        (folder / "text.txt").write_text(_TEXT, "utf-8")
        (folder / "words.txt").write_text("kumquat\nsalsify\n", "utf-8")
        (folder / "mimic.toml").write_text("min_count = 3\nepochs = 1\nngram_limit = 100\n")
        small = ("--model", self["model"])
        rarewords("-q", "corpus", "build", self["text.txt"], "--out", self["corpus"], "--workers", 1)
        quick = ("--preset", "paper", "--steps", 1)
        rarewords("-q", "ota", "--words", self["words.txt"], "--out", self["v.safetensors"], *quick, *small)
        fit = ("--corpus", self["corpus"], *small, "--min-count", 1, "--contexts", 1)
        rarewords("-q", "mimic", "fit", *fit, "--out", self["learner"])
        train = ("--corpus", self["corpus"], "--settings", self["mimic.toml"], *small)
        rarewords("-q", "mimic", "train", *train, "--out", self["mimic"])
        (folder / "data.tsv").write_text(_DATA)
        data = ("--data", self["data.tsv"])
        for name, method in (("a.json", ()), ("b.json", ("--embeddings", "avg"))):
            rarewords("-q", "wnlampro", "eval", *small, *method, "--answers", "--out", self[name], *data)

    def __getitem__(self, name):
        return self.folder / name

    def place(self):
        """A new folder for one input."""
        return place_in(self.folder)

    def replaced(self, folder, name, file, content):
        """A copy of a folder of the bench in which a file has other content, or is missing if it is None."""
        target = folder / name
        shutil.copytree(self[name], target)
        (target / file).unlink(missing_ok=True)
        if content is not None:
            (target / file).write_bytes(content)
        return target


_COUNTS = {"kumquat": 3, "plum": 40, "apple": 1200}
_DATA = "".join(
    f"{word}-{part}\t{part}\t{word} (n,{count / 500},{count})\thypernym\tcity (n,3.1,90)\tyear (n,4.2,900)\n"
    for part in ("dev", "test")
    for word, count in _COUNTS.items()
)


_GROWTH = 1 << 30  # bytes; what one example may add to the peak memory of the process
_SECONDS = 60


def peak_memory():
    """The most memory this process has had, in bytes."""
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else found * 1024


def survives(folder, *arguments):
    """Run a command with ``--out`` inside ``folder``, if it has one. It ends with 0, or with 2 and one line.

    Refused, it leaves nothing behind; in no case does it change what was there, leave a work folder or a
    half-written file, or take long or much memory.
    """
    if EXAMPLES:  # the time of one command, not of thousands
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True, file=sys.__stderr__)
    before, most, began = _state(folder), peak_memory(), time.perf_counter()
    beside = {*folder.parent.iterdir(), *folder.parents[1].iterdir()}
    temporary = folder.with_name(folder.name + ".tmp")
    temporary.mkdir()
    try:
        with patch.object(tempfile, "tempdir", str(temporary)):
            code, said = _run(["rarewords", "-q", *map(str, arguments)])
        forgotten = list(temporary.iterdir())
    finally:
        shutil.rmtree(temporary)
    seconds, grown, after = time.perf_counter() - began, peak_memory() - most, _state(folder)
    tally.command(arguments, code, seconds, folder)

    def require(held, sort, problem):
        if not held:
            raise FindingError(sort, f"{problem} after {[*map(str, arguments)]}: {said}")

    require(code in (0, 2), "traceback", f"exit code {code}")
    changed = [path for path in before if after.get(path) != before[path]]
    changed += {*folder.parent.iterdir(), *folder.parents[1].iterdir()} ^ beside
    require(not changed, "outside", f"changed {changed}")
    left = [
        path for path in after.keys() - before.keys() if code == 2 or path.name.endswith((".work", ".part", ".old"))
    ]
    require(not (left or forgotten), "left", f"left behind {left or forgotten}")
    require(seconds < _SECONDS, "slow", f"{seconds:.0f} s")
    require(grown < _GROWTH, "memory", f"peak memory rose by {grown / 2**20:,.0f} MiB")
    if code == 2:
        lines = [line for line in said.splitlines() if line.strip()]
        good = len(lines) == 1 and lines[0].startswith("rarewords: ") and len(lines[0]) > 20
        require(good, "other", "not one line")
    return code, said


def _state(folder):
    """What would show that a file was written, for everything in a folder."""
    states = {path: path.lstat() for path in folder.rglob("*")}
    return {
        path: (one.st_ino, one.st_size, one.st_mtime_ns if not stat.S_ISDIR(one.st_mode) else 0)
        for path, one in states.items()
    }


def _run(argv):
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = argv
    try:
        with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # as Python itself does for a user
            warnings.simplefilter("ignore", FutureWarning)
            warnings.showwarning = lambda text, kind, *_: err.write(f"{kind.__name__}: {text}\n")
            main()
    except SystemExit as stop:
        return stop.code or 0, err.getvalue()
    except Exception:
        return 1, traceback.format_exc()
    finally:
        sys.argv = before
    return None, "the command did not end with an exit code"

"""Shared by all tests: the bundled model, loaded once, and the large model where it is present."""

import faulthandler
import os
import signal
import sys
from pathlib import Path

import pytest
import torch

torch.set_num_threads(int(os.environ.get("RAREWORDS_TEST_THREADS", "1")))  # the suite runs in parallel itself

# A shell that runs the suite in the background makes its children ignore Ctrl-C, and some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)


# One file runs in one process. The longest files start first, so that no core waits for one at the end.
LONGEST = (
    "teaching/test_scan.py", "test_tutorial.py", "teaching/test_teach.py", "test_howto.py",
    "examples/test_notebooks.py", "experiments/paper/test_run.py", "injection/test_vocabulary.py",
    "wnlampro/test_build.py", "injection/test_inject.py", "teaching/test_transfer_check.py", "test_faults.py",
    "injection/test_forget.py", "teaching/test_glossary.py", "test_models.py", "corpus/test_build.py",
    "fuzz/test_doors.py", "teaching/test_report.py", "test_documents.py", "test_lm.py",
)  # fmt: skip


def pytest_collection_modifyitems(items):
    """Put the longest files first."""

    def place(item):
        found = [at for at, name in enumerate(LONGEST) if item.path.as_posix().endswith(f"tests/{name}")]
        return found[0] if found else len(LONGEST)

    items.sort(key=place)


MOST_SECONDS = 660  # pytest-timeout ends a test after 600, but not one that hangs inside a library


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """End the process if a test hangs in code that never returns to Python; the runner starts a new one."""
    faulthandler.dump_traceback_later(MOST_SECONDS, exit=True, file=sys.__stderr__)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="session")
def lm():
    """The bundled model."""
    from tests.cli.run import bundled

    return bundled("cpu")


@pytest.fixture(scope="session")
def large_model_folder():
    """The large model's folder, from RAREWORDS_LARGE_MODEL."""
    folder = os.environ.get("RAREWORDS_LARGE_MODEL")
    if not folder or not Path(folder).is_dir():
        pytest.skip("RAREWORDS_LARGE_MODEL does not name the large model's folder")
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A corpus of the megabyte of text that the tests have, built once."""
    from rarewords import Corpus
    from tests.architectures import real_text

    folder = tmp_path_factory.mktemp("corpus")
    (folder / "text.txt").write_text(real_text(), "utf-8")
    return Corpus.build(folder / "text.txt", folder / "corpus", workers=1)

"""The notebooks in ``examples`` run from top to bottom, without a network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from tests.pages import check, hub

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.slow


def run(name, folder, **environment):
    """Run a notebook in a folder of its own with nbmake; gives it with its new outputs."""
    notebook = Path(shutil.copy(EXAMPLES / f"{name}.ipynb", folder))
    plain = {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "--nbmake", "--overwrite", "--timeout", "0", notebook.name]
    done = subprocess.run(command, cwd=folder, env=os.environ | plain | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    return nbformat.read(notebook, 4)


def printed(notebook):
    """What each cell of code prints and ends with."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            found = [one for one in cell.outputs if one.get("name") != "stderr"]
            texts = (one.get("text") or one["data"]["text/plain"] for one in found)
            yield cell.source, "\n".join(texts)


@pytest.mark.parametrize("name", ["domain_text", "probing"])
def test_a_notebook_prints_what_it_shows(name, tmp_path):
    shown = dict(printed(nbformat.read(EXAMPLES / f"{name}.ipynb", 4)))
    for source, text in printed(run(name, tmp_path)):
        check(source, text, shown[source])


def test_the_notebook_of_encoders_runs_with_a_small_stand_in(tmp_path):
    with hub(tmp_path / "hub"):
        cells = list(printed(run("glossary_encoder", tmp_path, HF_HUB_CACHE=str(tmp_path / "hub"))))
    before, after = (text for source, text in cells if "ranks(" in source)
    assert before != after

"""The bundled model in the cache: made once, by whoever comes first, and mended when damaged."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from rarewords.errors import InputError
from rarewords.files import file_digest
from rarewords.models import bundled_model, load_pretrained


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_folder_is_an_ordinary_model_folder_made_once(cache):
    folder = bundled_model()
    assert folder.parent.parent == cache
    assert {"config.json", "model.safetensors", "tokenizer.json", "README.md"} <= {
        p.name for p in folder.iterdir()
    }
    made = (folder / "model.safetensors").stat().st_mtime_ns
    assert bundled_model() == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == made
    model, tokenizer = load_pretrained()
    assert model.config.vocab_size == len(tokenizer) == 30522


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "empty"])
def test_a_damaged_folder_is_mended(harm):
    folder = bundled_model()
    weights = folder / "model.safetensors"
    good = file_digest(weights)
    if harm == "flip":
        content = bytearray(weights.read_bytes())
        content[len(content) // 2] ^= 1
        weights.write_bytes(content)
    elif harm == "cut":
        weights.write_bytes(weights.read_bytes()[:1000])
    elif harm == "remove":
        (folder / "tokenizer.json").unlink()
    else:
        for path in folder.iterdir():
            path.unlink()
    assert bundled_model() == folder
    assert file_digest(weights) == good
    assert (folder / "tokenizer.json").is_file()
    leftovers = [path.name for path in folder.parent.iterdir() if path.suffix in (".part", ".old")]
    assert leftovers == []


def test_ten_processes_at_once_all_get_a_whole_model(cache):
    code = (
        "from rarewords.models import bundled_model; from rarewords.files import file_digest\n"
        "print(file_digest(bundled_model() / 'model.safetensors'))"
    )
    environment = {"RAREWORDS_CACHE": str(cache), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}

    def start(_):
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )

    with ThreadPoolExecutor(10) as pool:
        digests = {done.stdout.strip() for done in pool.map(start, range(10))}
    assert len(digests) == 1
    assert digests == {file_digest(bundled_model() / "model.safetensors")}


def test_a_cache_that_cannot_be_written_is_explained(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("RAREWORDS_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(InputError, match="RAREWORDS_CACHE"):
        bundled_model()


def test_the_packed_weights_are_within_rounding_of_the_unpacked(lm):
    # Each row of a packed matrix has 8 bits and a scale, so its largest entry is at most 127 scales.
    matrix = lm.embeddings
    assert matrix.shape == (30522, 384)
    steps = matrix / (matrix.abs().amax(1, keepdim=True).clamp_min(1e-9) / 127)
    assert torch.isclose(steps, steps.round(), atol=0.05).float().mean() > 0.99

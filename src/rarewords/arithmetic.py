"""Which numbers a model reads with: bfloat16 where the processor does it well, otherwise float32.

Rounding moves a reading by less than one context differs from the next. All that is reported is computed in float32.
"""

import subprocess
import sys
from functools import cache
from pathlib import Path

import torch

from rarewords._internal.cache import Cache, key_of
from rarewords.models import cache_folder

_LEAST = 1.3  # times as fast as float32
_PROBE = """
import time, torch
torch.set_num_threads(1)
x, w = torch.ones(1024, 384), torch.full((1536, 384), 0.5)
def seconds(x, w):
    torch.nn.functional.linear(x, w)
    start = time.process_time()
    for _ in range(8):
        found = torch.nn.functional.linear(x, w)
    assert float(found.float().mean()) == 192
    return time.process_time() - start
print(seconds(x, w) / seconds(x.bfloat16(), w.bfloat16()))
"""


def reading_type(device: torch.device) -> torch.dtype:
    """The number type that a model on this device reads with."""
    fast = device.type == "cuda" or (device.type == "cpu" and _fast_on_cpu())
    return torch.bfloat16 if fast else torch.float32


@cache
def _fast_on_cpu() -> bool:
    """Whether bfloat16 works on this processor and is faster; found out once and kept for the next program."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text("utf-8").split("\n\n")[0].splitlines() if about.exists() else []
    kind = [line for line in lines if line.startswith(("model name", "flags"))]
    if not {"avx512_bf16", "amx_bf16"} & set(" ".join(kind).split()):
        return False
    key = key_of(torch.__version__, kind)
    return float(Cache(cache_folder() / "bfloat16").json("speed", key, _speed)) >= _LEAST


def _speed() -> float:
    """How many times as fast; 0 if it does not work: some virtual machines announce what they then refuse."""
    try:
        return float(subprocess.check_output([sys.executable, "-c", _PROBE], stderr=subprocess.DEVNULL, timeout=60))
    except (subprocess.SubprocessError, OSError, ValueError):
        return 0.0

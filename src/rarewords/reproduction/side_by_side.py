"""Parts of a reproduction made ahead by other processes.

A training of attentive mimicking does not keep a GPU busy, nor does probing. Helpers are the same command
for some of the parts: they make stages, and the run itself finds them or waits for them. A helper that fails
costs nothing but time, for a stage that is missing is made by the run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rarewords.progress import message

# The run itself goes through the parts in the paper's order and so begins with the curves of approximation,
# which need nothing from the others.
_AHEAD = (("methods", "main", "beyond"), ("ablation",))
_SECONDS_TO_END = 20.0


@contextmanager
def helpers(jobs: int, parts: Sequence[str], options: Mapping[str, Any], folder: Path) -> Iterator[None]:
    """Run up to ``jobs - 1`` helpers while the block runs; they end with it.

    :param parts: those of the run.
    :param options: of the command, by name.
    :param folder: where their logs go.
    """
    shares = [chosen for share in _AHEAD if (chosen := [name for name in share if name in parts])]
    with ExitStack() as stack:
        for number, share in enumerate(shares[: jobs - 1], 1):
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"helper-{number}.log"
            log = stack.enter_context(path.open("w", encoding="utf-8"))
            given = _given({**options, "device": device_of(number, str(options["device"]))})
            given += ["--helper-of", str(os.getpid())]
            command = [sys.executable, "-m", "rarewords", "reproduce", *share, *given]
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
            stack.callback(_end, process, share)
            message(f"Made ahead by a helper: {', '.join(share)}; its log is {path}")
        yield


def end_with(parent: int) -> None:
    """End this process, a helper, once the run that started it is gone, however that ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started in the background
            os._exit(130)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=watch, daemon=True).start()


def device_of(number: int, asked: str, gpus: int | None = None) -> str:
    """The device of a helper: where there are several GPUs and none was named, each helper has its own.

    >>> [device_of(number, "auto", gpus=2) for number in (1, 2)], device_of(1, "cuda:3", gpus=4)
    (['cuda:1', 'cuda:0'], 'cuda:3')
    """
    import torch

    found = torch.cuda.device_count() if gpus is None else gpus
    return f"cuda:{number % found}" if asked in ("auto", "cuda") and found > 1 else asked


def _given(options: Mapping[str, Any]) -> list[str]:
    named = [(name, value) for name, value in options.items() if value is not None and name != "jobs"]
    return [word for name, value in named for word in (f"--{name}", str(value))]


def _end(process: subprocess.Popen[bytes], share: Sequence[str]) -> None:
    if process.poll() is None:  # the run has all it needs, or was cut off
        process.send_signal(signal.SIGINT)  # as by Ctrl-C, so that nothing half-written stays
        try:
            process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    elif process.returncode:
        message(f"The helper for {', '.join(share)} ended with status {process.returncode}")

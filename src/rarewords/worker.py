"""A language model as it is handed to other processes: by name, loaded once in each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from rarewords.lm import LanguageModel

if TYPE_CHECKING:
    from rarewords.engine import Engine


@dataclass(frozen=True)
class ModelReference:
    """All a process needs to have the same model.

    :param threads: how many threads a process may use; None leaves that to torch.
    :param precision: of float32 matrix products.
    """

    name: str
    device: str
    dtype: str
    threads: int | None
    precision: str

    @classmethod
    def of(cls, lm: LanguageModel, engine: Engine) -> ModelReference:
        """A reference for the workers of an engine, who share this machine's cores."""
        threads = max(1, torch.get_num_threads() // engine.workers) if lm.device.type == "cpu" else None
        dtype = str(lm.dtype).removeprefix("torch.")
        return cls(lm.name, str(lm.device), dtype, threads, torch.get_float32_matmul_precision())

    def load(self) -> LanguageModel:
        """The model in this process."""
        if self.threads:
            torch.set_num_threads(self.threads)
        torch.set_float32_matmul_precision(self.precision)
        return _loaded(self.name, self.device, self.dtype)


@lru_cache(maxsize=1)  # a process does many parts of the work with one model
def _loaded(name: str, device: str, dtype: str) -> LanguageModel:
    return LanguageModel.from_pretrained(name, device=device, dtype=dtype)

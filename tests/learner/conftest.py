"""What the tests of learners share."""

import pytest
import torch


@pytest.fixture(autouse=True)
def float32(monkeypatch):
    """Exact numbers, whatever the processor."""
    monkeypatch.setattr("rarewords.network.reading_type", lambda _: torch.float32)

"""Checks of errors by their code, which stays the same when the wording changes."""

from contextlib import contextmanager

import pytest

from rarewords import InputError


@contextmanager
def refused_with(code):
    """The block must raise an :class:`InputError` with this code, and a message of one line."""
    with pytest.raises(InputError) as caught:
        yield caught
    assert caught.value.code == code, f"[{caught.value.code}] {caught.value}"
    assert "\n" not in str(caught.value)

"""Writing files and folders so that they appear whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rarewords.errors import InputError


@contextmanager
def whole_file(target: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; on success it takes the target's place in one step.

    >>> with whole_file("counts.parquet") as temporary:  # doctest: +SKIP
    ...     temporary.write_bytes(b"...")
    """
    target = Path(target)
    with _reported(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        os.close(handle)
    temporary = Path(name)
    try:
        with _full_disk_reported(target):
            yield temporary
        with _reported(target):
            _readable_by_umask(temporary)
            temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(target: str | Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary folder beside ``target``; on success it is renamed to the target.

    An existing target that is not empty is refused unless ``replace`` is given; with it, the old folder
    is only removed once the new one is complete.
    """
    target = Path(target)
    if target.exists() and not target.is_dir():
        raise InputError(f"{target} is a file, not a folder; choose another folder")
    if not replace and target.exists() and any(target.iterdir()):
        raise InputError(f"{target} exists and is not empty; choose another folder or remove it first")
    with _reported(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent))
    try:
        with _full_disk_reported(target):
            yield temporary
        with _reported(target):
            for path in (temporary, *temporary.rglob("*")):
                _readable_by_umask(path)  # some libraries write private files, too
            if target.exists():
                discarded = Path(
                    tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".old", dir=target.parent)
                )
                target.replace(discarded / "old")
                temporary.replace(target)
                shutil.rmtree(discarded, ignore_errors=True)
            else:
                temporary.replace(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_json(path: str | Path, value: Any) -> None:
    """Write ``value`` as JSON, whole or not at all, the same bytes for the same value."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


def read_json(path: str | Path) -> Any:
    """Read a JSON file; a missing or broken one is an :class:`InputError` that names it."""
    path = Path(path)
    try:
        return json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a JSON file: {error}") from None


def file_digest(path: str | Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def explain_os_error(error: OSError, target: str | Path) -> InputError:
    """The one line a user needs for an error of the file system."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"{target}: no space left on the disk; free some space or choose another place")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return InputError(f"{target} cannot be written: {error.strerror}; choose a folder you may write to")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return InputError(f"{target} cannot be created: {error.strerror}: {error.filename}")
    return InputError(f"{target} cannot be written: {error.strerror or error}")


def no_space(error: Exception, target: str | Path) -> InputError | None:
    """The error to raise where a library reports a full disk in its own way; None for any other error."""
    text = str(error).lower()
    if "os error 28" in text or "no space" in text:
        return InputError(f"{target}: no space left on the disk; free some space or choose another place")
    return None


@contextmanager
def _reported(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise explain_os_error(error, target) from error


@contextmanager
def _full_disk_reported(target: Path) -> Iterator[None]:
    # Inside the caller's block only a full disk is surely about the target; other errors are its own.
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise explain_os_error(error, target) from error
        raise


def _readable_by_umask(path: Path) -> None:
    # mkstemp and mkdtemp make private files; what the user gets should follow the umask like any other file.
    mask = os.umask(0)
    os.umask(mask)
    path.chmod((0o777 if path.is_dir() else 0o666) & ~mask)

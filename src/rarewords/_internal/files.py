"""Writing files and folders so that they appear whole or not at all."""

import errno
import glob
import gzip
import hashlib
import json
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from filelock import BaseFileLock, FileLock
from safetensors import SafetensorError

from rarewords.errors import InputError


@contextmanager
def whole_file(target: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside ``target``; on success it takes the target's place in one step.

    >>> with whole_file("counts.parquet") as temporary:  # doctest: +SKIP
    ...     temporary.write_bytes(b"...")
    """
    target = Path(target)
    with parent_of(target):
        with writing(target):
            # Remove what killed runs have left; a folder that is in use is locked.
            for left in target.absolute().parent.glob(f".{glob.escape(target.name)}.????????.part"):
                with suppress(OSError), FileLock(left / f"{target.name}.lock", timeout=0) as stale:
                    remove_held(left, stale)
            folder, lock = _new_folder(target)
        try:
            yield folder / target.name
            with writing(target):
                (folder / target.name).replace(target)
        except Exception as error:
            if _disk_full(error):  # any other error may be about another file
                raise explain_os_error(error, target) from error
            raise
        finally:
            remove_held(folder, lock)


@contextmanager
def whole_folder(target: str | Path) -> Iterator[Path]:
    """Yield a temporary folder beside ``target``; on success it is renamed to the target.

    An existing target that is not empty is refused.
    """
    target = Path(target)
    require_folder(target, empty=True)
    with whole_file(target) as folder:
        folder.mkdir()
        mode = folder.stat().st_mode & 0o777  # as the umask has it; some libraries make private files
        yield folder
        with writing(target):
            for path in folder.rglob("*"):
                path.chmod(mode if path.is_dir() else mode & 0o666)
            if target.is_dir():  # it is empty; Windows does not replace it
                target.rmdir()


def require_new_file(path: Path | None) -> Path | None:
    """A path for a new file, if one is wanted; refused if it is a folder or nothing can be written there."""
    if path is not None:
        _require_writable(path)
        if path.is_dir():
            raise InputError(f"{path} is a folder; give the name of a file", code="output")
    return path


def require_folder(path: Path, *, empty: bool) -> None:
    """Refuse a path for a new folder that is a file, or a folder that must be empty and is not."""
    _require_writable(path)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file, not a folder; choose another folder", code="output")
    if empty and path.exists() and any(path.iterdir()):
        raise InputError(f"{path} is not empty; choose another folder or remove it first", code="output")


def _require_writable(path: Path) -> None:
    """Refuse a path for a new file or folder beside which nothing can be written."""
    if not path.name:  # "/", or "." which cannot be replaced under the feet of a process
        raise InputError(f"{path} cannot be written; give the name of a new folder or file", code="output")
    with writing(path):
        place = next(parent for parent in path.absolute().parents if parent.exists())
        with suppress(FileNotFoundError):  # another process may just have cleared it up
            Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".part", dir=place)).rmdir()


def write_json(path: str | Path, value: Any) -> None:
    """Write ``value`` as JSON, whole or not at all, the same bytes for the same value."""
    write_lines(path, [json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False), "\n"])


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    """Write lines, with their ends, as UTF-8, compressed for a name in ``.gz``; the same bytes for the same lines."""
    packed = str(path).endswith(".gz")
    with (
        whole_file(path) as temporary,
        temporary.open("wb") as stream,
        gzip.GzipFile("", "wb", 9, stream, mtime=0) if packed else nullcontext(stream) as out,
    ):
        for line in lines:
            out.write(line.encode())


def read_json(path: str | Path) -> Any:
    """Read a JSON file, plain or gzip; a missing or broken one is an :class:`InputError` that names it."""
    text = read_text(path)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a JSON file: {error}", code="format") from None


@contextmanager
def open_text(path: str | Path) -> Iterator[TextIO]:
    """A UTF-8 text file to read, plain or gzip; what is wrong with it is an :class:`InputError`."""
    require_file(path)
    try:
        with Path(path).open("rb") as file:
            raw = gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == b"\x1f\x8b" else file
            try:
                yield TextIOWrapper(raw, encoding="utf-8-sig")
            except UnicodeDecodeError as error:
                place = raw.tell() - len(error.object) + error.start  # the decoder only knows its own block
                problem = f"{path} is not UTF-8 text ({error.reason} at byte {place}); save it as UTF-8"
                raise InputError(problem, code="unreadable") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is a damaged .gz file: {error}", code="damaged") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", code="unreadable") from None


def read_text(path: str | Path) -> str:
    """The content of a UTF-8 text file, plain or gzip."""
    with open_text(path) as stream:
        return stream.read()


def require_file(path: str | Path) -> None:
    """Refuse what is not a regular file: a pipe or a device may have no end."""
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", code="missing-file") from None
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise InputError(f"{str(path)!r} cannot be read: {error}", code="unreadable") from None
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
        raise InputError(f"{path} is {kind}; give a file", code="unreadable")


@contextmanager
def reading(path: str | Path, remedy: str) -> Iterator[None]:
    """Around code that reads a file of ours: what the file system or its format has to say is one line."""
    try:
        yield
    except (OSError, SafetensorError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is damaged or cannot be read ({error}); {remedy}", code="damaged") from None


def file_digest(path: str | Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with Path(path).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def writing(target: str | Path) -> Iterator[None]:
    """Around code that writes ``target``: an error of the file system is an :class:`InputError`."""
    try:
        yield
    except OSError as error:
        raise explain_os_error(error, target) from error


def explain_os_error(error: Exception, target: str | Path) -> InputError:
    """The one line a user needs for an error of the file system."""
    if _disk_full(error):
        problem = "no space left on the disk; free some space or choose another place"
        return InputError(f"{target}: {problem}", code="disk-full")
    reason = getattr(error, "strerror", None) or error
    return InputError(f"{target} cannot be written: {reason}; choose another place", code="output")


def _disk_full(error: Exception) -> bool:
    """Whether there was no space for a file, however a library reports it."""
    # EFBIG: a file larger than a limit of the system allows.
    numbers, text = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG), str(error).lower()
    return getattr(error, "errno", None) in numbers or any(f"os error {n})" in text for n in numbers)


def _new_folder(target: Path) -> tuple[Path, BaseFileLock]:
    """A new folder beside a target, and the lock in it that shows, until it is released, that it is in use."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".part", dir=target.absolute().parent))
        lock = FileLock(folder / f"{target.name}.lock")
        with suppress(OSError):  # not every file system has locks
            lock.acquire(timeout=5)  # a process that clears up holds it for a moment
        if folder.exists():
            return folder, lock
        lock.release()  # another process has just cleared it up


@contextmanager
def parent_of(target: Path) -> Iterator[None]:
    """Make the folders above ``target``; those that are empty when the block fails are removed again."""
    missing = [place for place in target.absolute().parents if not place.exists()]
    try:
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for place in missing:
            with suppress(OSError):  # it is not empty, or was never made
                place.rmdir()
        raise


def remove_held(folder: Path, lock: BaseFileLock) -> None:
    """Remove a folder, the lock in it, which this process holds, last: Windows keeps a file that is open."""
    shutil.rmtree(folder, ignore_errors=True)
    lock.release()
    with suppress(OSError):  # it is gone, or another process works in it
        folder.rmdir()

"""Files and folders that are there whole or not at all, whatever happens while they are written."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sonorant.errors import Unavailable

__all__ = ["atomic_file", "atomic_folder", "atomic_write", "make_folder", "refused"]


def atomic_write(path: Path, data: bytes | str) -> None:
    """Write `data` (text as UTF-8) to `path`: a reader sees the old content or the new one, never a part.

    Missing folders above `path` are made. Raises Unavailable, naming `path`, when the file system refuses.
    """
    with atomic_file(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a file to write to; it becomes `path` at the end, or vanishes if an error is raised.

    Missing folders above `path` are made. Raises Unavailable, naming `path`, when the file system refuses.
    """
    make_folder(path.parent)
    temporary = ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), 0o644)  # mkstemp makes files that nobody else may read
            os.fsync(file.fileno())
        os.replace(temporary, path)
        temporary = ""
        _sync_folder(path.parent)
    except OSError as error:
        raise refused(path, error) from error
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Yield an empty sibling folder to fill; it becomes `path` at the end, or vanishes if an error is raised.

    A folder that was at `path` is replaced. Raises Unavailable, naming `path`, when the file system refuses.
    """
    make_folder(path.parent)
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        raise refused(path, error) from error
    try:
        yield temporary
        os.chmod(temporary, 0o755)
        _sync_tree(temporary)
        _put_in_place(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise refused(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def make_folder(path: Path) -> None:
    """Make `path` and the folders above it, if missing; raises Unavailable, naming it, when that is refused."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(path, error) from error


def refused(path: Path, error: OSError) -> Unavailable:
    """Return the error that says which path the file system would not write, and why."""
    reason = error.strerror or str(error)
    return Unavailable(f"{path}: cannot be written: {reason}; make room or give a folder that you may write to")


def _put_in_place(temporary: Path, path: Path) -> None:
    """Rename onto `path`; a folder that is not empty cannot be renamed over, so the old one steps aside first."""
    if path.exists():
        aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
        os.replace(path, aside)
        os.replace(temporary, path)
        shutil.rmtree(aside, ignore_errors=True)
    else:
        os.replace(temporary, path)


def _sync_tree(folder: Path) -> None:
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb") as file:
                os.fsync(file.fileno())
        _sync_folder(Path(parent))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

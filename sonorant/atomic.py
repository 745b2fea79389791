"""Atomic writes of files and folders."""

import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from sonorant.errors import Unavailable

__all__ = ["atomic_file", "atomic_folder", "atomic_write", "make_folder", "refused", "sweep"]

_LONGEST = 245  # bytes of a name in a temporary's, which has ten more; file systems take 255
_TEMPORARY = re.compile(r"\.(?P<name>.+?)(?P<kind>\.old|\.draft)?\.[a-z0-9_]{8}")  # as tempfile ends them


def _nothing() -> None:
    return None


def atomic_write(path: Path, data: bytes | str, ready: Callable[[], None] = _nothing) -> None:
    """Write `data` (text as UTF-8) to `path`: a reader sees the old content or the new one, never a part.

    ready: as of `atomic_file`. Missing folders above `path` are made. Raises Unavailable, naming `path`, when the file
    system refuses.
    """
    with atomic_file(path, ready) as file:
        file.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def atomic_file(path: Path, ready: Callable[[], None] = _nothing) -> Iterator[BinaryIO]:
    """Yield a file to write to; it becomes `path` at the end, or vanishes if an error is raised.

    A link stays, and what it leads to is written; so is a pipe or a device, as it is. ready: called when all is on the
    disk, just before the file becomes `path`; it may raise to prevent that. Missing folders above `path` are made.
    Raises Unavailable, naming `path`, when the file system refuses.
    """
    if _is_pipe_or_device(path):
        with _pipe_or_device(path) as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    make_folder(target.parent)
    temporary, name = "", os.fsdecode(os.fsencode(target.name)[:_LONGEST])
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fchmod(file.fileno(), 0o644)  # mkstemp's files are private to the user
            os.fsync(file.fileno())
        ready()
        os.replace(temporary, target)
        temporary = ""
        _sync_folder(target.parent)
    except OSError as error:
        raise refused(path, error) from error
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)


@contextmanager
def atomic_folder(path: Path, ready: Callable[[], None] = _nothing, *, replaces: bool = True) -> Iterator[Path]:
    """Yield an empty sibling folder to fill; it becomes `path` at the end, or vanishes if an error is raised.

    A folder that was at `path` is replaced; if a kill prevents that, `sweep` brings it back. replaces: False: the first
    of several writers at once has the path. The drafts that killed writers of `path` left are removed first. ready: as
    of `atomic_file`. Raises Unavailable, naming `path`, when the file system refuses, or another writer was first.
    """
    make_folder(path.parent)
    _remove_abandoned(path)
    try:
        temporary, lock = _locked_folder(path)
    except OSError as error:
        raise refused(path, error) from error
    try:
        yield temporary
        os.chmod(temporary, 0o755)
        _sync_tree(temporary)
        ready()
        if replaces:
            _put_in_place(temporary, path)
        else:
            _take(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        raise refused(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        os.close(lock)


def sweep(folder: Path) -> None:
    """Remove the temporaries of killed writers in `folder`; restore a folder that one had moved aside, unreplaced.

    A writer still active there gets Unavailable. Raises Unavailable, naming `folder`, when the file system refuses.
    """
    try:
        for path in folder.glob(".*"):
            if found := _TEMPORARY.fullmatch(path.name):
                with suppress(FileNotFoundError):  # its writer is alive, and was faster
                    _sweep(path, folder / found["name"] if found["kind"] == ".old" else None)
    except OSError as error:
        raise refused(folder, error) from error


def make_folder(path: Path) -> None:
    """Make `path` and the folders above it, if missing; raises Unavailable, naming it, when that is refused."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refused(path, error) from error


def refused(path: Path, error: OSError) -> Unavailable:
    """Return the error with the path that the file system refuses to write, and the reason."""
    reason = error.strerror or str(error)
    return Unavailable(f"{path}: cannot be written: {reason}; free disk space, or give a folder that you may write to")


def _is_pipe_or_device(path: Path) -> bool:
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


@contextmanager
def _pipe_or_device(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("wb") as file:
            yield file
    except OSError as error:
        raise refused(path, error) from error


def _locked_folder(path: Path) -> tuple[Path, int]:
    """Make a temporary folder beside `path`; return it and its descriptor, which has it locked until it is closed."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.draft.", dir=path.parent))
        with suppress(FileNotFoundError):  # another writer took it for abandoned before it was locked
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            if _is_own(lock) and folder.exists():
                return folder, lock
            os.close(lock)


def _is_own(lock: int) -> bool:
    """Lock a folder's descriptor; False if another writer, which is removing it, has. Never waits."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks, where nothing is ever taken for abandoned
        return True
    return True


def _remove_abandoned(path: Path) -> None:
    """Remove the temporary folders of writers of `path` that nobody has locked any more, as far as it can."""
    with suppress(OSError):
        for folder in path.parent.iterdir():
            found = _TEMPORARY.fullmatch(folder.name)
            if found and (found["name"], found["kind"]) == (path.name, ".draft"):
                _remove_unlocked(folder)


def _remove_unlocked(folder: Path) -> None:
    with suppress(OSError):  # its writer is alive, or it cannot be removed
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
        finally:
            os.close(lock)


def _sweep(path: Path, name: Path | None) -> None:
    """Remove a temporary, or rename what was moved aside back to `name`."""
    if not path.is_dir():
        path.unlink()
    elif name is not None and not name.exists() and any(path.iterdir()):
        os.replace(path, name)
    else:
        shutil.rmtree(path)


def _take(temporary: Path, path: Path) -> None:
    """Rename to a path that nobody has; a folder that is not empty cannot be renamed over."""
    try:
        os.rename(temporary, path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise Unavailable(f"{path}: another process has written it meanwhile; do it again") from error


def _put_in_place(temporary: Path, path: Path) -> None:
    """Rename onto `path`; a folder that is not empty cannot be renamed over, so the old one is moved aside first."""
    if not path.exists():
        os.replace(temporary, path)
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.old.", dir=path.parent))
    try:
        os.replace(path, aside)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.replace(aside, path)  # the old content, or an empty folder, which cannot replace it
        with suppress(OSError):
            os.rmdir(aside)  # only if empty: else it is the old content, and `sweep` brings it back
        raise
    shutil.rmtree(aside, ignore_errors=True)


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

"""One process at a time may train or prepare in a run folder, and one may evaluate it."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sonorant.atomic import make_folder
from sonorant.errors import Unavailable

__all__ = ["locked", "locked_for_evaluation"]

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


def locked(folder: Path) -> AbstractContextManager[None]:
    """Hold the run folder for a training or a preparation; raises Unavailable if it is held for one already."""
    advice = "look at it with `sonorant status`, stop it, or give another folder with --run"
    return _held(folder, "supervisor.lock", "trains or prepares there", advice)


def locked_for_evaluation(folder: Path) -> AbstractContextManager[None]:
    """Hold the run's evaluation, which is written a set at a time; raises Unavailable if it is held already."""
    return _held(folder, "evaluation.lock", "evaluates this run", "wait for its end, or stop it")


@contextmanager
def _held(folder: Path, name: str, doing: str, advice: str) -> Iterator[None]:
    """Hold a lock; it goes with the process, however that ends.

    A file system without locks, as some that are mounted over a network, grants them all.
    """
    make_folder(folder)
    path = folder / name
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode().strip() or "unknown"
            raise Unavailable(f"{folder}: process {holder} {doing} already; {advice}") from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise Unavailable(f"{path}: cannot be locked: {error.strerror}") from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)

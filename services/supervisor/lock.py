"""One process at a time may train or prepare in a run folder."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sonorant.atomic import make_folder
from sonorant.errors import Unavailable

__all__ = ["locked"]

_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the run folder; the lock goes with the process, however that ends. Raises Unavailable if it is held.

    A file system without locks, as some that are mounted over a network, grants them all.
    """
    make_folder(folder)
    path = folder / "supervisor.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode().strip() or "unknown"
            raise Unavailable(
                f"{folder}: process {holder} trains or prepares there already; "
                "look at it with `sonorant status`, stop it, or give another folder with --run"
            ) from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise Unavailable(f"{path}: cannot be locked: {error.strerror}") from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)

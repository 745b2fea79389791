"""One supervisor at a time may use a run folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sonorant.atomic import make_folder
from sonorant.errors import Unavailable

__all__ = ["locked"]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the run folder; the lock goes with the process, however that ends. Raises Unavailable if it is held."""
    make_folder(folder)
    descriptor = os.open(folder / "supervisor.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 32).decode().strip() or "unknown"
            raise Unavailable(
                f"{folder}: a training runs there already (process {holder}); "
                "look at it with `sonorant status`, stop it, or give another folder with --run"
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)

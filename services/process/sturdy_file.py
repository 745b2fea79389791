"""A log file whose writes never raise: neither a full disk nor a closed pipe ends the process."""

import io
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO, cast

from services.process.secrets import masked

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

__all__ = ["SturdyFile", "sturdy_stderr"]


class SturdyFile(io.RawIOBase):
    """Writes text to a file descriptor, secrets masked; lines that it does not take are counted.

    The number is written when the descriptor takes something again, as the line that `notice` makes of it. Example:
    `SturdyFile(2, lambda count: f"{count} lines lost")`. Any thread may write; whole lines stay whole.
    """

    def __init__(self, descriptor: int, notice: Callable[[int], str]) -> None:
        self._descriptor = descriptor
        self._notice = notice
        self._lock = threading.RLock()
        self._lost = 0
        self._torn = False  # the disk was full in the middle of a line

    def writable(self) -> bool:
        """See `io.IOBase`."""
        return True

    def isatty(self) -> bool:
        """See `io.IOBase`."""
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        """See `io.IOBase`."""
        return self._descriptor

    def write(self, data: "ReadableBuffer", /) -> int:
        """Write what can be written; return the length of `data`, whatever came of it."""
        text = masked(bytes(data).decode("utf-8", "replace"))
        with self._lock:
            before = "\n" * self._torn + (f"{self._notice(self._lost)}\n" if self._lost else "")
            start, content = before.encode(), text.encode("utf-8", "replace")
            written = self._take(start + content)
            if written < len(start + content):
                self._torn = not (b"\n" + start + content)[: 1 + written].endswith(b"\n") or (
                    self._torn and not written
                )
                self._lost = text.count("\n") + (self._lost if written < len(start) else 0)
            else:
                self._torn, self._lost = False, 0
        return memoryview(data).nbytes

    def _take(self, content: bytes) -> int:
        """Return how many bytes got through."""
        written = 0
        while written < len(content):
            try:
                written += os.write(self._descriptor, content[written:])
            except OSError:
                break
        return written


def sturdy_stderr(notice: Callable[[int], str]) -> BinaryIO:
    """Replace this process's standard error by a `SturdyFile`, and return it.

    One that was closed before the process began loses all; one that is no file, as some tests have, stays.
    """
    try:
        descriptor = -1 if sys.stderr is None else sys.stderr.fileno()
    except io.UnsupportedOperation:
        return sys.stderr.buffer
    file = SturdyFile(descriptor, notice)
    sys.stderr = io.TextIOWrapper(cast(BinaryIO, file), "utf-8", "backslashreplace", line_buffering=True)
    return cast(BinaryIO, file)

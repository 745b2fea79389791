"""Windows between two writes, held open as long as there is an aim at them, so that a fault can be injected there.

A rank calls `hold` at each window. The injector creates a file of the window's name in `CHAOS_RECORDS/aim`, waits for
the one in `reached`, which has the rank's process, injects the fault, and removes the aim.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

__all__ = ["Aim", "hold"]

_LONGEST_S = 10.0  # the injector may have ended
_POLL_S = 0.002


def hold(records: Path, window: str) -> None:
    """Stay in a window while there is an aim at it."""
    aim = records / "aim" / window
    if not aim.exists():
        return
    reached = records / "reached"
    (reached / f".{window}").write_text(str(os.getpid()))
    os.replace(reached / f".{window}", reached / window)
    until_s = time.monotonic() + _LONGEST_S
    while aim.exists() and time.monotonic() < until_s:
        time.sleep(_POLL_S)


class Aim:
    """An aim at one window, from `with` on until its end."""

    def __init__(self, records: Path, window: str) -> None:
        self._aim, self._reached = records / "aim" / window, records / "reached" / window

    def __enter__(self) -> "Aim":
        for path in (self._aim, self._reached):
            path.parent.mkdir(exist_ok=True)
        self._reached.unlink(missing_ok=True)
        self._aim.touch()
        return self

    def __exit__(self, *_: object) -> None:
        self._aim.unlink(missing_ok=True)

    def rank(self) -> int | None:
        """Return the process of the rank that is in the window, None if none is there yet."""
        with suppress(OSError):
            return int(self._reached.read_text())
        return None

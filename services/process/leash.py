"""Run a command that dies with its parent: `python leash.py PARENT_PID COMMAND…` (Linux).

The kernel kills the command, by SIGKILL, when its parent ends, however that happens, so a supervisor that is killed
leaves no orphan. It is a program of its own because nothing else is safe between fork and exec in a process that has
threads; it imports next to nothing, so that it costs some 15 ms.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

__all__ = ["leashed"]

_PR_SET_PDEATHSIG = 1


def leashed(command: Sequence[str], parent: int) -> list[str]:
    """Return the command that runs `command` until the process `parent` (0: whichever starts it) ends."""
    return [sys.executable, "-I", "-S", __file__, str(parent), *command]


def _main(parent: int, command: list[str]) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if parent and os.getppid() != parent:  # it ended before prctl
        sys.exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    _main(int(sys.argv[1]), sys.argv[2:])

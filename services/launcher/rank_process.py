"""A rank's process and what it and its launcher say to each other: "ready", and then which gang it is one of.

They speak over a socket that is the process's standard input. The process says that it waits for shards, which may take
hours and is no fault; and that it is ready when it has loaded all that takes long, so that ranks meet within a second
and need not wait long for one that will not come.
"""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from services.process.leash import leashed
from sonorant.errors import Unavailable

__all__ = ["RankProcess", "await_gang", "tell_launcher"]

_WAITS, _READY = b"waits\n", b"ready\n"
_MOST_BYTES = 64


class RankProcess:
    """Starts `command` on a leash, in a process group of its own."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        with theirs:
            self._process = subprocess.Popen(
                leashed(command, os.getpid()), stdin=theirs.fileno(), env=environment, start_new_session=True
            )
        self._said = b""
        self.joined = False

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    @property
    def ready(self) -> bool:
        """Whether it has said that it waits for a gang."""
        return _READY in self._heard()

    @property
    def waits(self) -> bool:
        """Whether it has said that it waits for shards."""
        return _WAITS in self._heard()

    def _heard(self) -> bytes:
        with suppress(BlockingIOError, ConnectionError):
            self._said += self._socket.recv(_MOST_BYTES)
        return self._said

    def join(self, variables: Mapping[str, str]) -> None:
        """Tell it further environment variables, those of its gang."""
        with suppress(ConnectionError):  # it has just died, and its exit status will say so
            self._socket.sendall(json.dumps(dict(variables)).encode() + b"\n")
        self.joined = True

    def stop(self) -> int:
        """Let it write a checkpoint and leave, however long that takes; return its exit code."""
        self._process.terminate()
        return os.EX_TEMPFAIL if self._process.wait() else 0

    def kill(self) -> None:
        """End it, and what it may have started, at once."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._socket.close()


def tell_launcher(waits: bool) -> None:
    """In the process: say that it waits for shards; that it waits no more is said by `await_gang`."""
    with suppress(OSError), socket.socket(fileno=os.dup(0)) as launcher:
        if waits:
            launcher.sendall(_WAITS)


def await_gang() -> None:
    """In the process: say that it is ready, wait, and take over the variables that its launcher sends.

    Raises Unavailable if there is no launcher, or no more.
    """
    try:
        with socket.socket(fileno=os.dup(0)) as launcher, launcher.makefile("rb") as lines:
            launcher.sendall(_READY)
            line = lines.readline()
    except OSError as error:
        raise Unavailable(f"standard input is no launcher's ({error}); start this by services.launcher") from error
    if not line.endswith(b"\n"):
        raise Unavailable("the launcher has ended before there was a gang")
    os.environ.update(json.loads(line))

"""A rank's process, and its protocol with its launcher over a socket, the process's standard input.

The process sends `waits` while shards are missing, which may take hours and is no fault; and `ready` once TensorFlow is
loaded, so that ranks meet within a second and a missing one is detected soon. The launcher sends one line: the gang's
environment variables as JSON.
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

__all__ = ["RankProcess", "await_gang", "report_waiting"]

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
        self._bytes = b""
        self.joined = False

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    @property
    def ready(self) -> bool:
        """Whether it has sent `ready`: it waits for a gang."""
        return _READY in self._received()

    @property
    def waits(self) -> bool:
        """Whether it has sent `waits`: shards are missing."""
        return _WAITS in self._received()

    def _received(self) -> bytes:
        with suppress(BlockingIOError, ConnectionError):
            self._bytes += self._socket.recv(_MOST_BYTES)
        return self._bytes

    def join(self, variables: Mapping[str, str]) -> None:
        """Send the environment variables of its gang."""
        with suppress(ConnectionError):  # it has just died, which its exit status shows
            self._socket.sendall(json.dumps(dict(variables)).encode() + b"\n")
        self.joined = True

    def stop(self) -> int:
        """Send SIGTERM and wait, without a limit, for checkpoint and exit; return its exit code."""
        self._process.terminate()
        return os.EX_TEMPFAIL if self._process.wait() else 0

    def kill(self) -> None:
        """Kill its process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._socket.close()


def report_waiting(waits: bool) -> None:
    """In the process: send `waits` if shards are missing; `await_gang` ends that state."""
    with suppress(OSError), socket.socket(fileno=os.dup(0)) as launcher:
        if waits:
            launcher.sendall(_WAITS)


def await_gang() -> None:
    """In the process: send `ready`, wait for the gang's variables, and set them.

    Raises Unavailable without a launcher, or when it ends.
    """
    try:
        with socket.socket(fileno=os.dup(0)) as launcher, launcher.makefile("rb") as lines:
            launcher.sendall(_READY)
            line = lines.readline()
    except OSError as error:
        raise Unavailable(f"standard input is not a launcher's ({error}); start this by services.launcher") from error
    if not line.endswith(b"\n"):
        raise Unavailable("the launcher has ended before there was a gang")
    os.environ.update(json.loads(line))

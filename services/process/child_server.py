"""A server as a child process, from its port file to its end."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.process.log_tail import last_lines
from sonorant.errors import Unavailable

__all__ = ["serving_child"]

_LOOK_EVERY_S = 0.05


@contextmanager
def serving_child(
    process: subprocess.Popen[bytes], what: str, port_file: Path, log: Path, start_s: float, grace_s: float
) -> Iterator[int]:
    """Yield the port that a started process writes to `port_file` when it serves, and terminate it in the end.

    what: its name in errors; log: where its output goes; start_s: how long to wait for the port; grace_s: from SIGTERM
    to SIGKILL. Raises Unavailable, with the log's last line, if it ends before it serves, or takes too long.
    """
    try:
        yield _port(process, what, port_file, log, start_s)
    finally:
        process.terminate()
        try:
            process.wait(grace_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _port(process: subprocess.Popen[bytes], what: str, port_file: Path, log: Path, start_s: float) -> int:
    for _ in range(round(start_s / _LOOK_EVERY_S)):
        if port_file.exists() and (port := port_file.read_text().strip()):
            return int(port)
        try:
            code = process.wait(_LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            continue
        raise Unavailable(f"the {what} ended at once (exit code {code}): {last_lines(log, 1).strip()}")
    raise Unavailable(f"the {what} was not ready after {start_s:g} s; see {log}: {last_lines(log, 1).strip()}")

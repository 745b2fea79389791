"""Waiting for conditions that threads, processes or pods fulfil."""

import subprocess
import time
from collections.abc import Callable

PATIENCE_S = 300.0  # machines are busy; only a failing test waits for so long


def eventually(condition, what="it did not happen", *, process=None, patience_s=PATIENCE_S):
    """Wait until `condition()` returns something true, and return that.

    what: message of the failure after `patience_s`, or a function that returns it. process: one without which the
    condition cannot be fulfilled; if it ends, its output is shown. Looking takes a twentieth of a processor at most,
    or a look every 0.3 s.
    """
    deadline_s, pause_s = time.monotonic() + patience_s, 0.005
    while True:
        begun_s = time.monotonic()
        if found := condition():
            return found
        assert process is None or process.poll() is None, _output_of(process)
        assert begun_s < deadline_s, what() if isinstance(what, Callable) else what
        cost_s = time.monotonic() - begun_s
        time.sleep(pause_s)
        pause_s = min(1.5 * pause_s, max(0.02, 20 * cost_s), 0.3)


def _output_of(process: subprocess.Popen):
    output = process.communicate()[0] if process.stdout is not None else ""
    return f"it ended with code {process.returncode}: {output}"

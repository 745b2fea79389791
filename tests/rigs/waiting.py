"""Waiting for what others bring about: threads, processes, pods."""

import subprocess
import time
from collections.abc import Callable

PATIENCE_S = 300.0  # machines are busy; what never comes is seen once, what comes is seen at once


def eventually(condition, what="it did not happen", *, process=None, patience_s=PATIENCE_S):
    """Wait until `condition()` returns something true, and return that.

    what: said if it does not come within `patience_s`; or a function that says what was found instead. process: one
    without which it cannot come; if it ends, what it said is shown.
    """
    deadline_s, pause_s = time.monotonic() + patience_s, 0.005
    while not (found := condition()):
        assert process is None or process.poll() is None, _last_words(process)
        assert time.monotonic() < deadline_s, what() if isinstance(what, Callable) else what
        time.sleep(pause_s)
        pause_s = min(1.5 * pause_s, 0.3)
    return found


def _last_words(process: subprocess.Popen):
    said = process.communicate()[0] if process.stdout is not None else ""
    return f"it ended with code {process.returncode}: {said}"

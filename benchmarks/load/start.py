"""Preset `start`: how long a recognizer takes from its process' start to its readiness, warmed up and calibrated."""

import time
from collections.abc import Iterator
from statistics import median

from benchmarks.load import usage
from benchmarks.load.experiment import Conditions, NotOurServer, Results
from benchmarks.row import Progress, Row

__all__ = ["start"]

_STARTS = 5
_GOAL_S = 2.0
_MIB = 1024 * 1024


def start(conditions: Conditions, results: Results, progress: Progress) -> Iterator[Row]:
    """Yield the seconds of the quickest of some starts and of the one in the middle, CPU time and memory when ready.

    The first finds files that may not be in memory yet; the quickest is a warm one. Raises NotOurServer.
    """
    if conditions.publish is None:
        raise NotOurServer("start: starts recognizers of its own; leave out --server")
    seconds, cpu_s, memory = [], [], []
    for number in range(1, _STARTS + 1):
        progress(f"start {number} of {_STARTS}")
        began_s = time.monotonic()
        with conditions.serve() as target:
            seconds.append(time.monotonic() - began_s)
            cpu_s.append(usage.cpu_s(target.process))
            memory.append(usage.rss_bytes(target.process))
    yield Row("ready after", "quickest start", min(seconds), "s", "wanted", _GOAL_S)
    yield Row("ready after", "median", median(seconds), "s", "wanted", _GOAL_S)
    yield Row("CPU, server", "quickest start", min(cpu_s), "s")
    yield Row("memory", "no streams", median(memory) / _MIB, "MiB")

"""Timing on a machine that others use too: ways take turns, and each one's quickest turn counts."""

import time
from collections.abc import Callable, Mapping

__all__ = ["quickest_s"]


_ENOUGH_S = 3.0  # a way that has taken so long has had its turns


def quickest_s(ways: Mapping[str, Callable[[], object]], turns: int = 15) -> dict[str, float]:
    """Return the CPU seconds that each way takes: the minimum of at most `turns`, after one to warm up."""
    for way in ways.values():
        way()
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(turns):
        for name, way in ways.items():
            if sum(taken[name]) < _ENOUGH_S:
                start = time.process_time()
                way()
                taken[name].append(time.process_time() - start)
    return {name: min(seconds) for name, seconds in taken.items()}

"""Timing on a machine that others use too: ways take turns, and each one's quickest turn counts."""

import time
from collections.abc import Callable, Mapping

__all__ = ["quickest_s"]


_ENOUGH_S = 3.0  # a way that has taken so long has had its turns
_TURN_S = 0.1  # long enough for caches to become a quick way's own again, as in a service that does nothing else


def quickest_s(ways: Mapping[str, Callable[[], object]], turns: int = 15) -> dict[str, float]:
    """Return the CPU seconds that a call of each way takes: the least of at most `turns`, of one or more calls each."""
    for way in ways.values():
        way()
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(turns):
        for name, way in ways.items():
            if sum(taken[name]) < _ENOUGH_S:
                taken[name] += _turn(way)
    return {name: min(seconds) for name, seconds in taken.items()}


def _turn(way: Callable[[], object]) -> list[float]:
    taken: list[float] = []
    turn_s = 0.0
    while turn_s < _TURN_S:
        start = time.process_time()
        way()
        taken.append(time.process_time() - start)
        turn_s += taken[-1]
    return taken

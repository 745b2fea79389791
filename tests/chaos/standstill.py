"""How long work stood still: no example arrived at a rank, and none took a step."""

import struct
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

__all__ = ["Standstill", "gaps", "longest_standstill", "times"]

_BEFORE_S = 1.0  # a pause that began earlier than that before a fault is due to something else


class Standstill(Exception):
    """Work did not go on after a fault."""


def times(records: Path, *what: str) -> list[float]:
    """Return the times that ranks recorded (`arrivals`, `steps`), in monotonic seconds, ascending."""
    found: list[float] = []
    for path in (path for name in what for path in records.glob(f"{name}.*")):
        data = path.read_bytes()
        found += struct.unpack(f"<{len(data) // 8}d", data[: len(data) // 8 * 8])
    return sorted(found)


def gaps(injected: Sequence[float], arrivals: Sequence[float]) -> list[float]:
    """Return for each time of a fault the longest pause of arrivals that began between it and the next one."""
    pauses = list(pairwise(arrivals))
    found = []
    for injected_s, next_s in pairwise([*injected, float("inf")]):
        ours = [b - max(a, injected_s) for a, b in pauses if injected_s - _BEFORE_S <= a < next_s and b > injected_s]
        found.append(max(ours, default=0.0))
    return found


def longest_standstill(times: Sequence[float], excused: Iterable[tuple[float, float]] = ()) -> tuple[float, float]:
    """Return the longest time between two of `times`, and when it began, both in seconds.

    times: ascending, at least two for anything but 0. excused: spans in which the test kept work from going on, as by
    a short SIGSTOP; they do not count. Excuses may overlap each other.
    """
    merged = _merged(excused)
    return max(((b - a - _within(a, b, merged), a) for a, b in pairwise(times)), default=(0.0, 0.0))


def _merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _within(a: float, b: float, spans: list[tuple[float, float]]) -> float:
    return sum(max(0.0, min(b, end) - max(a, begin)) for begin, end in spans)

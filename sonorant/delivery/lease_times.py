"""The time-out of leases, from their measured durations: an age that hardly any reaches.

Deaths and broken links are detected without it; the time-out is for examples that are lost undetected. So it may be
long; but a time-out below the chain's latency has everything read and computed twice. Latency follows from the stages,
their replicas and the queues before them, and changes when they are scaled: it is measured, not set.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sonorant.arrays import IntArray

__all__ = ["LeaseTimes"]

_UNMEASURED_S = 60.0
_FEWEST, _MOST = 8, 64  # leases whose times are known: below and above that
_QUANTILE = 0.95
_MULTIPLE = 4.0  # of that quantile: queues fill up while the trainer evaluates or saves
_WATCHED = 32  # at once, however many leases are under way


class _Watched(NamedTuple):
    epoch: int
    ordinals: IntArray
    granted_s: float


class LeaseTimes:
    """Times a sample of the leases, from grant until the last example is settled, and derives their time-out.

    least_s: shortest time-out. Times are those of the caller's monotonic clock, in seconds.
    """

    def __init__(self, least_s: float) -> None:
        self._least_s = least_s
        self._watched: list[_Watched] = []
        self._taken_s: deque[float] = deque(maxlen=_MOST)  # infinity: expired
        self.timeout_s = max(least_s, _UNMEASURED_S)
        """Age at which a lease expires: four times what 95 % take, at least `least_s`, at first a minute; doubled when
        most leases expire."""

    def granted(self, epoch: int, ordinals: IntArray, now: float) -> None:
        """Note a lease of examples that were never leased before."""
        if len(self._watched) < _WATCHED:
            self._watched.append(_Watched(epoch, ordinals, now))

    def look(self, now: float, settled: Callable[[int, IntArray], bool]) -> None:
        """Record which leases have all their examples `settled`, and which expire; call it several times a second."""
        before = len(self._watched)
        going = []
        for lease in self._watched:
            if settled(lease.epoch, lease.ordinals):
                self._taken_s.append(now - lease.granted_s)
            elif now - lease.granted_s >= self.timeout_s:
                self._taken_s.append(math.inf)
            else:
                going.append(lease)
        self._watched = going
        if len(going) < before:
            self._derive()

    def _derive(self) -> None:
        """Set the time-out by the latest leases; an expired one was lost, unless most expire: then the chain slowed."""
        in_time = [taken_s for taken_s in self._taken_s if taken_s < math.inf]
        if len(self._taken_s) >= _FEWEST and len(in_time) < len(self._taken_s) / 2:
            self.timeout_s *= 2
            self._taken_s.clear()
        elif in_time:
            usual_s = float(np.quantile(in_time, _QUANTILE))
            least_s = self._least_s if len(in_time) >= _FEWEST else max(self._least_s, _UNMEASURED_S)
            self.timeout_s = max(least_s, _MULTIPLE * usual_s)

    def forget(self) -> None:
        """Stop timing the leases under way: the time of a lost and reissued example is not the chain's latency."""
        self._watched.clear()

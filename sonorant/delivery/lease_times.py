"""The time-out of leases, from their measured durations: an age that hardly any reaches.

Deaths and broken links are detected without it; the time-out is for examples that are lost undetected. So it may be
long; but a time-out below the chain's latency has everything read and computed twice. Latency follows from the stages,
their replicas and the queues before them, and changes when they are scaled: it is measured, not set.
"""

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
        self._taken_s: deque[float] = deque(maxlen=_MOST)
        self.timeout_s = max(least_s, _UNMEASURED_S)
        """Age at which a lease expires: four times what 95 % take, at least `least_s`, at first a minute."""

    def granted(self, epoch: int, ordinals: IntArray, now: float) -> None:
        """Note a lease of examples that were never leased before."""
        if len(self._watched) < _WATCHED:
            self._watched.append(_Watched(epoch, ordinals, now))

    def look(self, now: float, settled: Callable[[int, IntArray], bool]) -> None:
        """Record the durations of leases all of whose examples are `settled`; call it several times a second.

        Expired leases are timed as well: examples that arrive afterwards show that the time-out was too short.
        """
        going = []
        for lease in self._watched:
            if settled(lease.epoch, lease.ordinals):
                self._taken_s.append(now - lease.granted_s)
            else:
                going.append(lease)
        if len(going) < len(self._watched):
            self._watched = going
            usual_s = float(np.quantile(self._taken_s, _QUANTILE))
            least_s = self._least_s if len(self._taken_s) >= _FEWEST else max(self._least_s, _UNMEASURED_S)
            self.timeout_s = max(least_s, _MULTIPLE * usual_s)

    def forget(self) -> None:
        """Stop timing the leases under way: the time of a lost and reissued example is not the chain's latency."""
        self._watched.clear()

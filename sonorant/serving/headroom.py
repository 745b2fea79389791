"""Headroom: how many streams of speech, a second of audio a second, still fit within the service level objective."""

from sonorant.serving.lag import LagWatch
from sonorant.serving.round_cost import RoundCost

__all__ = ["Headroom"]

_ROUND_SHARE = 0.25  # of the SLO: audio waits for a round that runs and for its own, and half is for the rest
_SAFETY = 0.8  # what parses and sends shares the processors, and nobody is ever perfectly regular
_MOST_OVERHEAD = 0.5  # of a round: where one stream alone exceeds the SLO, the workers' time is the limit


class Headroom:
    """Capacity by the measured cost of rounds, guarded by the measured lag; for one thread, time is passed in.

    slo_s: limit of the 95th percentile of lag and of final results. workers: that compute rounds; batch: the most jobs
    of a round.

    With M streams on W workers a round lasts T = overhead + rate * T * M / W. M is bounded by T <= slo_s / 4, and by
    full rounds: batch / jobs seconds of audio in each.
    """

    def __init__(self, slo_s: float, workers: int, batch: int) -> None:
        self.cost = RoundCost()
        self.lag = LagWatch(slo_s / 2)
        self._round_s = slo_s * _ROUND_SHARE
        self._workers = workers
        self._batch = batch

    def capacity(self, now_s: float) -> int:
        """Return how many streams the workers can carry, at least one."""
        fit = self.cost.fit(now_s)
        full_s = self._batch / max(fit.jobs, 1e-9)  # audio of a full round
        overhead = min(fit.overhead_s / self._round_s, _MOST_OVERHEAD)
        each = min((1 - overhead) / fit.rate, full_s / fit.round_s(full_s))
        return max(1, int(_SAFETY * self._workers * each))

    def fitting(self, now_s: float, active: int) -> int:
        """Return how many streams fit beside `active` ones: none while audio is late; one always fits alone."""
        if not active:
            return self.capacity(now_s)
        return 0 if self.lag.late(now_s) else max(0, self.capacity(now_s) - active)

"""Headroom: how many streams of speech, a second of audio a second, still fit within the service level objective."""

from sonorant.serving.lag import LagWatch
from sonorant.serving.late_limit import LateLimit
from sonorant.serving.loop_cost import LoopCost
from sonorant.serving.round_cost import RoundCost

__all__ = ["Headroom"]

_ROUND_SHARE = 0.25  # of the SLO: audio waits for a round that runs and for its own, and half is for the rest
_SAFETY = 0.9  # nobody is ever perfectly regular
_GATHER_SHARE, _LONGEST_GATHER_S = 2 / 3, 0.5  # of the SLO, at most, and of any
_GATHER_FROM, _GATHER_MOST = 0.5, 0.8  # of the capacity in use
_MOST_LOOP = 0.5  # of a round
_DEAREST = 0.0125  # CPU seconds of the loop for a second of audio, in messages of 20 ms and less
_MOST_OVERHEAD = 0.5  # of a round: where one stream alone exceeds the SLO, the workers' time is the limit


class Headroom:
    """Capacity by the measured cost of rounds and of the event loop, guarded by the measured lag.

    For one thread, the event loop's; others may call what returns something, which changes nothing. Time is passed in.

    slo_s: limit of the 95th percentile of lag and of final results. workers: threads that compute rounds, a processor
    each; batch: the most jobs of a round.

    With M streams on W workers a round lasts T = overhead + rate * T * M / W. M is bounded by T <= slo_s / 4; by full
    rounds, batch / jobs seconds of audio in each, beside which the processors do the loop's work; and by the loop.

    While the loop has a worker's processor, or the interpreter, that worker's round lasts longer: that share of the
    measured seconds is the loop's, and counts once. What calls without live audio cost the loop looks like cost of the
    streams that are open; but in the time that it has left it carries at least as many of the dearest ones as fit.
    """

    def __init__(self, slo_s: float, workers: int, batch: int) -> None:
        self.cost = RoundCost()
        self.lag = LagWatch(slo_s / 2)
        self._late = LateLimit(slo_s / 2)
        self._loop = LoopCost()
        self._round_s = slo_s * _ROUND_SHARE
        self._longest_gather_s = min(slo_s * _GATHER_SHARE, _LONGEST_GATHER_S)
        self._workers = workers
        self._batch = batch

    def heard(self, now_s: float, audio_s: float, lag_s: float, cpu_s: float) -> None:
        """Note that live audio is recognized, and its lag; cpu_s: what the event loop's thread has used so far."""
        self.lag.heard(now_s, lag_s)
        self._late.heard(now_s, audio_s, lag_s)
        self._loop.heard(now_s, audio_s, cpu_s)

    def capacity(self, now_s: float) -> int:
        """Return how many streams the workers and the event loop can carry, at least one."""
        loop = self._loop_cost(now_s)
        fit = self.cost.fit(now_s).scaled(1 - min(self._loop.busy(now_s) / self._workers, _MOST_LOOP))
        full_s = self._batch / max(fit.jobs, 1e-9)  # audio of a full round
        overhead = min(fit.overhead_s / self._round_s, _MOST_OVERHEAD)
        each = min((1 - overhead) / (fit.rate + loop), full_s / (fit.round_s(full_s) + loop * full_s))
        return max(1, int(_SAFETY * min(self._workers * each, 1 / loop)))

    def _loop_cost(self, now_s: float) -> float:
        """Return the CPU seconds of the event loop for each second of audio."""
        carried = self._loop.live(now_s) + max(0.0, _SAFETY - self._loop.busy(now_s)) / _DEAREST
        return min(self._loop.rate(now_s), 1 / max(carried, 1e-9))

    def gather_s(self, now_s: float, active: int) -> float:
        """Return for how long each of `active` streams gathers messages, from one recognition to the next; 0: not.

        It begins at half the capacity, so that a recognizer with room for more answers as soon as it can.
        """
        load = active / self.capacity(now_s)
        return self._longest_gather_s * min(1.0, max(0.0, (load - _GATHER_FROM) / (_GATHER_MOST - _GATHER_FROM)))

    def fitting(self, now_s: float, active: int) -> int:
        """Return how many streams fit beside `active` ones: none while audio is overdue; one always fits alone."""
        if not active:
            return self.capacity(now_s)
        most = min(self.capacity(now_s), self._late.streams(now_s))
        return 0 if self.lag.overdue(now_s) else max(0, int(most) - active)

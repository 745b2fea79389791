"""Cost of the event loop, measured: CPU seconds of its thread for each second of live audio.

One thread reads messages and writes results of all streams, beside the workers, on the same processors.
"""

import math

__all__ = ["LoopCost"]

_FORGET_S = 5.0  # time constant
_UNKNOWN = 0.003  # before any traffic, in place of what is missing to
_ENOUGH_S = 10.0  # so many seconds of audio


class LoopCost:
    """The recent mean, forgotten exponentially; other threads may call what returns something, which changes nothing.

    All that the thread does counts as cost of live audio, calls without any too.
    """

    def __init__(self) -> None:
        self._audio_s = self._spent_s = 0.0
        self._at_s = -math.inf
        self._cpu_s: float | None = None

    def heard(self, now_s: float, audio_s: float, cpu_s: float) -> None:
        """Note that live audio has been recognized; cpu_s: what the thread has used so far.

        What it used since the last live audio is forgotten as if it had been used evenly since then.
        """
        if self._cpu_s is not None:
            lately = max(now_s - self._at_s, 1e-9) / _FORGET_S
            self._spent_s = self._spent_s * self._share(now_s) - math.expm1(-lately) / lately * (cpu_s - self._cpu_s)
        self._audio_s = self._audio_s * self._share(now_s) + audio_s
        self._at_s, self._cpu_s = max(now_s, self._at_s), cpu_s

    def rate(self, now_s: float) -> float:
        """Return the CPU seconds for each second of audio."""
        share = self._share(now_s)
        audio_s = share * self._audio_s
        missing_s = max(0.0, _ENOUGH_S - audio_s)
        return (_UNKNOWN * missing_s + share * self._spent_s) / (missing_s + audio_s)

    def busy(self, now_s: float) -> float:
        """Return the share of one processor that the thread has had lately, at most 1."""
        return min(1.0, self._share(now_s) * self._spent_s / _FORGET_S)

    def live(self, now_s: float) -> float:
        """Return the seconds of live audio a second that were recognized lately."""
        return self._share(now_s) * self._audio_s / _FORGET_S

    def _share(self, now_s: float) -> float:
        return math.exp(min(0.0, self._at_s - now_s) / _FORGET_S)

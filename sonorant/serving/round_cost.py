"""Cost of a worker's rounds, measured: seconds of a round with s seconds of audio = overhead + rate * s.

Streams that are due together share a round, so that the cost of one further stream falls with the load: a busy share at
low load says little. The line is fitted by least squares; old rounds are forgotten exponentially.
"""

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fit", "RoundCost"]

_FORGET_S = 5.0  # time constant
_ROUNDS_BEFORE = 20.0  # weight of what is known before any traffic
_RIDGE = 0.01  # pulls the overhead to 0 as long as rounds are too alike to tell it from the rate
_LONGEST = (0.25, 4.0)  # a round counts as so many seconds, or times its expectation, at most: a machine may pause
_UNKNOWN = (0.001, 0.008, 10.0)  # `Fit` before anything is measured: a small model, chunks of 0.1 s

_Sums: TypeAlias = NDArray[np.float64]  # over rounds: 1, s, s^2, t, s t, jobs; of s seconds of audio in t seconds


class Fit(NamedTuple):
    """overhead_s: seconds of a round without audio; rate: seconds, and jobs: number, for each second of audio."""

    overhead_s: float
    rate: float
    jobs: float

    def round_s(self, audio_s: float) -> float:
        """Return the expected seconds of a round with so much audio."""
        return self.overhead_s + self.rate * audio_s

    def scaled(self, share: float) -> "Fit":
        """Return the fit of rounds that take a share of these' time."""
        return Fit(share * self.overhead_s, share * self.rate, self.jobs)


class RoundCost:
    """The fit of recent rounds; without any, what was known when `settle` was called.

    Other threads may call `fit`, which changes nothing.
    """

    def __init__(self) -> None:
        overhead_s, rate, jobs = _UNKNOWN
        self._known = _moments(0.1 * jobs, 0.1, overhead_s + 0.1 * rate)  # one round, which the first ones outweigh
        self._recent = np.zeros(6)
        self._at_s = -math.inf

    def measured(self, now_s: float, jobs: int, audio_s: float, round_s: float) -> None:
        """Note a round: its computations, the audio that they recognized, and how long it took."""
        recent = self._remembered(now_s)
        if self._known[0] + recent[0] >= _ROUNDS_BEFORE:
            longest_s, times = _LONGEST
            round_s = min(round_s, max(longest_s, times * self.fit(now_s).round_s(audio_s)))
        self._recent, self._at_s = recent + _moments(jobs, audio_s, round_s), max(now_s, self._at_s)

    def settle(self) -> None:
        """Make what was measured so far, by a calibration, what is known without traffic."""
        if self._recent[0]:
            self._known = self._recent * (_ROUNDS_BEFORE / self._recent[0])
            self._recent = np.zeros(6)

    def fit(self, now_s: float) -> Fit:
        """Return the fit of recent rounds at `now_s`."""
        sums = self._known + self._remembered(now_s)
        weight, audio, audio2, seconds, product, jobs = (float(sum_) for sum_ in sums)
        if not audio:
            return Fit(*_UNKNOWN)
        spread = (1 + _RIDGE) * weight * audio2 - audio * audio
        overhead_s = max(0.0, (seconds * audio2 - product * audio) / spread) if spread > 0 else 0.0
        rate = (seconds - overhead_s * weight) / audio
        if rate <= 0:  # what takes long has no audio of its own, as the end of whole utterances
            overhead_s, rate = 0.0, seconds / audio
        return Fit(overhead_s, max(rate, 1e-9), jobs / audio)

    def _remembered(self, now_s: float) -> _Sums:
        return self._recent * math.exp(min(0.0, self._at_s - now_s) / _FORGET_S)


def _moments(jobs: float, audio_s: float, round_s: float) -> _Sums:
    return np.array([1.0, audio_s, audio_s * audio_s, round_s, audio_s * round_s, jobs])

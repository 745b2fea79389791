"""Onsets: where speech begins in a stretch of audio, by its level.

The change of level is found by least squares (Bai 1994, "Least squares estimation of a shift in linear processes"): the
two means that fit the levels before and after it best. Weak sounds before it, such as fricatives, belong to the speech.
"""

import math
from array import array

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Waveform

__all__ = ["HOP_MS", "Levels", "onset"]

HOP_MS = 10
"""Time from frame to frame, in milliseconds; a frame has twice as much audio."""

_LEAST_POWER = 1e-10  # relative to full scale: -100 dB, the level of digital silence
_DEPTH_DB = 40  # levels lower than that below the loudest one count as equally low
_RISE_DB = 3  # least difference of the means before and after an onset: steady noise has less
_WEAK_DB = 6  # above the pause, the least level of weak sounds
_WEAK_FRAMES = 25  # longest weak sound
# A pause is this near to the noise, or so long and so far below the speech after it; closures of plosives are neither.
_PAUSE_DB = 12
_LONG_PAUSE_FRAMES = 25
_LONG_PAUSE_DB = 8
_NOISE_FRAMES = 1000
_NOISE_PERCENTILE = 5
_FEWEST_FRAMES = 4
_MOST_PIECES = 64


class Levels:
    """Levels of a stream in dB, relative to full scale: the same bits however its samples are cut.

    Frame i is the root mean square of samples [i·hop, (i + 2)·hop). A minute takes 24 kB. Frames are computed when they
    are asked for, many at once; up to half a second of samples waits.
    """

    def __init__(self, rate_hz: int) -> None:
        self.hop = max(1, round(rate_hz * HOP_MS / 1000))
        self._computed = array("f")  # powers of frames
        self._samples = [np.empty(0, np.float32)]  # the last hop, and what waits
        self._waiting = 0  # samples
        self._rate_hz = rate_hz

    def push(self, samples: Waveform) -> None:
        """Take the next Float32[samples]."""
        self._samples.append(samples.copy())  # of a view that would keep more
        self._waiting += len(samples)
        if 2 * self._waiting >= self._rate_hz or len(self._samples) > _MOST_PIECES:
            self._compute()

    @property
    def _powers(self) -> "array[float]":
        """The power of each frame so far."""
        self._compute()
        return self._computed

    def _compute(self) -> None:
        line = np.concatenate(self._samples)
        hops = len(line) // self.hop
        if hops > 1:
            squares = np.square(line[: hops * self.hop], dtype=np.float64).reshape(hops, self.hop)
            energies = np.add.reduce(squares, axis=1)
            powers = (energies[:-1] + energies[1:]) / (2 * self.hop)
            self._computed.frombytes(powers.astype(np.float32).tobytes())
            line = line[(hops - 1) * self.hop :].copy()
        self._samples, self._waiting = [line], 0

    def __len__(self) -> int:
        """Return the number of frames so far."""
        return len(self._powers)

    def frame(self, time_s: float) -> int:
        """Return the frame that begins at a time, or the last one that begins before it."""
        return int(time_s * self._rate_hz / self.hop + 1e-6)

    def middle_s(self, frame: int) -> float:
        """Return the time of the middle of a frame."""
        return (frame + 1) * self.hop / self._rate_hz

    def between(self, begin: int, end: int) -> NDArray[np.float64]:
        """Return Float64[frames], the levels of frames `begin` up to `end`, or as many of them as there are."""
        powers = np.array(self._powers[max(0, begin) : max(0, end)], np.float64)
        levels: NDArray[np.float64] = 10 * np.log10(powers + _LEAST_POWER)
        return levels

    def noise(self, end: int) -> float:
        """Return the level of the noise before frame `end`: a low percentile; digital silence has none."""
        past = np.array(self._powers[max(0, end - _NOISE_FRAMES) : end])
        past = past[past > _LEAST_POWER]
        if not len(past):
            return 10 * math.log10(_LEAST_POWER)
        rank = len(past) * _NOISE_PERCENTILE // 100
        return 10 * math.log10(float(np.partition(past, rank)[rank]) + _LEAST_POWER)


def onset(levels: Levels, begin: int, end: int) -> int:
    """Return the frame, of those from `begin` up to `end`, with which speech begins after a pause.

    The speech goes on at `end`; at `begin` there may be other speech, of the word before. Without a pause, returns
    `begin`.
    """
    stretch = levels.between(begin, end)
    change = _rise(np.maximum(stretch, stretch.max(initial=-np.inf) - _DEPTH_DB))
    if not change:
        return begin
    before = np.sort(stretch[:change])
    if before[0] > levels.noise(end) + _PAUSE_DB:
        depth = stretch[change:].mean() - before.mean()
        if change < _LONG_PAUSE_FRAMES or depth < _LONG_PAUSE_DB:
            return begin
    first = max(0, change - _WEAK_FRAMES)
    quiet = np.flatnonzero(stretch[first:change] <= before[change // 5] + _WEAK_DB)
    return begin + first + (int(quiet[-1]) + 1 if len(quiet) else 0)


def _rise(values: NDArray[np.float64]) -> int:
    """Return the frame at which the best fit by two means rises; 0: it does not.

    With m1 and m2 the means of the first i of n values and of the others, the squared error of the fit is least where
    i (n - i) (m2 - m1)² is highest.
    """
    n = len(values)
    if n < _FEWEST_FRAMES:
        return 0
    sums = np.cumsum(values)
    i = np.arange(1, n)
    rise = (sums[-1] - sums[:-1]) / (n - i) - sums[:-1] / i
    best = int(np.argmax(i * (n - i) * np.square(np.maximum(rise, 0))))
    return best + 1 if rise[best] >= _RISE_DB else 0

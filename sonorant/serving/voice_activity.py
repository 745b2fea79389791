"""Voice activity: which frames of a stream have speech, by band energies that rise over the noise floor and fall again.

Noise that does not change is not speech, however loud it is or suddenly it begins: its energies stay near their
floor, the minimum of the last seconds (minimum statistics, as Martin 2001; here of a fixed window), or they rise and do
not fall. Speech falls within a syllable, in some bands even in noise. Every decision is a function of the last frames
alone, so it is the same however the audio is cut.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Waveform
from sonorant.audio import kernels
from sonorant.audio.windows import hann

__all__ = ["FRAME_MS", "Activity", "VoiceActivity"]

FRAME_MS = 10
"""Time from frame to frame, in milliseconds; a frame has twice as much audio."""

_REGISTER = 8  # bins that the kernel computes side by side
_EDGES_HZ = (100, 300, 500, 750, 1050, 1400, 1900, 2700, 3800)  # of the bands: no direct current


class Activity(NamedTuple):
    """Bool[frames] each: `active`, above the noise floor; `speech`, those of them that a fall shows to be speech."""

    active: NDArray[np.bool_]
    speech: NDArray[np.bool_]


class VoiceActivity:
    """Detects speech in one stream; frame i covers samples [i·hop, (i + 2)·hop). Its loops: `voice_activity.hpp`."""

    def __init__(self, rate_hz: int) -> None:
        self.hop = max(1, round(rate_hz * FRAME_MS / 1000))
        self._kernel = kernels.VoiceActivity(*_tables(rate_hz, self.hop))

    def push(self, samples: Waveform) -> Activity:
        """Return the activity of the frames that Float32[samples] complete; there may be none."""
        flags = np.empty(2 + len(samples) // self.hop, np.uint8)  # two hops at most are left over from before
        flags = flags[: self._kernel.push(np.ascontiguousarray(samples, np.float32), flags)]
        return Activity(flags > 0, flags > 1)


@lru_cache(maxsize=8)
def _tables(rate_hz: int, hop: int) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int32]]:
    """Return cosines, sines and edges, as `kernels.VoiceActivity` takes them; powers are relative to full scale."""
    size = 2 * hop
    edges = np.unique([round(hz * size / rate_hz) for hz in _EDGES_HZ if hz < rate_hz / 2])
    if len(edges) < 2:  # at a low rate there are fewer bands
        edges = np.array([0, hop])
    window = hann(size).astype(np.float64)
    rows = np.arange(1, hop + 1)
    weights = window[1 : hop + 1] * np.sqrt(2 / size / np.sum(np.square(window)))
    weights[-1] /= 2  # the middle is its own mirror image
    angles = (2 * np.pi / size) * rows[:, None] * np.arange(edges[-1])
    beyond = (0, 0), (0, -edges[-1] % _REGISTER)
    cosines, sines = (np.pad(weights[:, None] * values, beyond) for values in (np.cos(angles), np.sin(angles)))
    return cosines.astype(np.float32), sines.astype(np.float32), edges.astype(np.int32)

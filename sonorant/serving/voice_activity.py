"""Voice activity: which frames of a stream have speech, by band energies that rise over the noise floor and fall again.

Noise that does not change is not speech, however loud it is or suddenly it begins: its energies stay near their
floor, the minimum of the last seconds (minimum statistics, as Martin 2001; here of a fixed window), or they rise and do
not fall. Speech falls within a syllable, in some bands even in noise. Every decision is a function of the last frames
alone, so it is the same however the audio is cut.
"""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from sonorant.arrays import Waveform
from sonorant.audio.windows import hann

__all__ = ["FRAME_MS", "Activity", "VoiceActivity"]

FRAME_MS = 10
"""Time from frame to frame, in milliseconds; a frame has twice as much audio."""

_EDGES_HZ = (100, 300, 500, 750, 1050, 1400, 1900, 2700, 3800)  # of the bands: no direct current
_BEST_BANDS = 4  # those that count: in noise, or a narrow channel, the others tell nothing
_LEAST_POWER = 1e-8  # of a band, relative to full scale: -80 dB, below which all is silence
_SMOOTHED_FRAMES = 4
_FLOOR_FRAMES = 200
_FALL_FRAMES = 40
# Stationary white and pink noise stay below 7.5 dB of either in minutes; of 3,900 words of digits and commands, a
# third of them in rooms with noise at 5 to 25 dB, all that are audible fall by 10 dB and more.
_ACTIVE_DB = 8.0
_FALL_DB = 9.0


class Activity(NamedTuple):
    """Bool[frames] each: `active`, above the noise floor; `speech`, those of them that a fall shows to be speech."""

    active: NDArray[np.bool_]
    speech: NDArray[np.bool_]


class VoiceActivity:
    """Detects speech in one stream; frame i covers samples [i·hop, (i + 2)·hop)."""

    def __init__(self, rate_hz: int) -> None:
        self.hop = max(1, round(rate_hz * FRAME_MS / 1000))
        window = 2 * self.hop
        self._window = hann(window)
        self._edges = _band_edges(rate_hz, window)
        self._scale = np.float32(2 / window / np.sum(np.square(self._window)))
        bands = len(self._edges) - 1
        self._samples = np.empty(0, np.float32)
        self._powers = np.full((_SMOOTHED_FRAMES - 1, bands), _LEAST_POWER, np.float32)
        self._levels = np.full((_FLOOR_FRAMES - 1, bands), 10 * np.log10(_LEAST_POWER), np.float32)

    def push(self, samples: Waveform) -> Activity:
        """Return the activity of the frames that Float32[samples] complete; there may be none."""
        samples = np.concatenate([self._samples, samples])
        frames = max(0, len(samples) // self.hop - 1)
        self._samples = samples[frames * self.hop :].copy()
        if not frames:
            return Activity(np.empty(0, np.bool_), np.empty(0, np.bool_))
        powers = np.concatenate([self._powers, self._band_powers(samples, frames)])
        self._powers = powers[frames:]
        smoothed = sliding_window_view(powers, _SMOOTHED_FRAMES, axis=0).mean(axis=-1)
        levels = np.concatenate([self._levels, 10 * np.log10(smoothed)])
        self._levels = levels[frames:]
        above = levels[_FLOOR_FRAMES - 1 :] - sliding_window_view(levels, _FLOOR_FRAMES, axis=0).min(axis=-1)
        latest = sliding_window_view(levels[_FLOOR_FRAMES - _FALL_FRAMES :], _FALL_FRAMES, axis=0)
        falls = (np.maximum.accumulate(latest, axis=-1) - latest).max(axis=-1)
        active = _best(above) >= _ACTIVE_DB
        return Activity(active, active & (_best(falls) >= _FALL_DB))

    def _band_powers(self, samples: Waveform, frames: int) -> NDArray[np.float32]:
        """Return the powers Float32[frames, bands] of the frames at the start of the samples."""
        cut = sliding_window_view(samples, len(self._window))[:: self.hop][:frames]
        spectra = np.fft.rfft(cut * self._window, axis=1)[:, : self._edges[-1]]
        power = (np.square(spectra.real) + np.square(spectra.imag)) * self._scale
        bands: NDArray[np.float32] = np.add.reduceat(power, self._edges[:-1], axis=1) + np.float32(_LEAST_POWER)
        return bands


def _band_edges(rate_hz: int, window: int) -> NDArray[np.int64]:
    """Return the first bin of each band, and the last one's end; at a low rate there are fewer bands."""
    edges = np.unique([round(hz * window / rate_hz) for hz in _EDGES_HZ if hz < rate_hz / 2])
    return edges if len(edges) > 1 else np.array([0, 1 + window // 2])


def _best(of_bands: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return Float32[frames], the mean of each frame's largest values."""
    mean: NDArray[np.float32] = np.sort(of_bands, axis=1)[:, -_BEST_BANDS:].mean(axis=1)
    return mean

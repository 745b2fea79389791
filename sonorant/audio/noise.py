"""Noise: white, pink, and whatever is short made long.

All noises are Float32[samples]. Their level does not matter: `sonorant.audio.mixing` sets it.
"""

import numpy as np
from ducc0 import fft

from sonorant.arrays import Waveform
from sonorant.audio.fft_sizes import coarse_length
from sonorant.errors import RejectedExample

__all__ = ["looped", "pink_noise", "white_noise"]

_CROSS_FADE_S = 0.05


def white_noise(samples: int, rng: np.random.Generator) -> Waveform:
    """Return Gaussian noise with equal power in all frequencies: Float32[samples]."""
    return rng.standard_normal(samples, dtype=np.float32)


def pink_noise(samples: int, rng: np.random.Generator) -> Waveform:
    """Return Gaussian noise whose power falls by 3 dB an octave, without a constant part: Float32[samples]."""
    length = 2 * coarse_length((samples + 1) // 2)
    spectrum = fft.r2c(white_noise(length, rng))
    spectrum[1:] /= np.sqrt(np.arange(1, len(spectrum), dtype=np.float32))
    spectrum[0] = 0
    pink: Waveform = fft.c2r(spectrum, lastsize=length, forward=False, inorm=2)[:samples]
    return pink


def looped(noise: Waveform, samples: int, sample_rate_hz: int, rng: np.random.Generator) -> Waveform:
    """Return `samples` of a noise, from a random position on: Float32[samples].

    What is long enough is cut out in one piece. What is shorter goes round and round: its end is cross-faded into its
    start over 50 ms (or half of it) with sine and cosine, which keeps the power of uncorrelated sounds.
    Raises RejectedExample if the noise has no samples.
    """
    if len(noise) == 0:
        raise RejectedExample("a noise has no samples: need at least one")
    if len(noise) >= samples:
        start = int(rng.integers(len(noise) - samples + 1))
        return noise[start : start + samples]
    fade = min(len(noise) // 2, int(_CROSS_FADE_S * sample_rate_hz))
    phase = (np.arange(fade, dtype=np.float32) + 0.5) * np.float32(np.pi / 2 / max(fade, 1))
    period = noise[: len(noise) - fade].copy()
    period[:fade] = noise[:fade] * np.sin(phase) + noise[len(noise) - fade :] * np.cos(phase)
    start = int(rng.integers(len(period)))
    return np.resize(np.roll(period, -start), samples)

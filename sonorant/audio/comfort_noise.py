"""Comfort noise (the name is of RFC 3389): the quiet around speech, where a recording begins or ends with a word.

Models are trained on utterances with some quiet before and behind them. Where there is none, the last word is in no
whole vector of features, or is emitted after the end, and the first one meets a state of silence that was never heard.
"""

from functools import lru_cache

import numpy as np

from sonorant.arrays import Waveform
from sonorant.audio.noise import white_noise

__all__ = ["LEVEL_DB", "after_speech", "before_speech", "quiet_room", "within_quiet"]

_BEFORE_S, _AFTER_S = 0.1, 0.2
LEVEL_DB = -70.0
"""Relative to full scale: a quiet room's, where digital silence is no room's."""


def before_speech(there: int, rate_hz: int) -> Waveform:
    """Return Float32[samples] that an utterance with `there` samples before its speech lacks of 0.1 s."""
    return _noise(round(_BEFORE_S * rate_hz) - there)


def after_speech(there: int, rate_hz: int) -> Waveform:
    """Return Float32[samples] that an utterance with `there` samples after its speech lacks of 0.2 s."""
    return _noise(round(_AFTER_S * rate_hz) - there)


def within_quiet(waveform: Waveform, rate_hz: int) -> Waveform:
    """Return a recording, Float32[samples], that begins and ends with speech, with what it lacks around it."""
    return np.concatenate([before_speech(0, rate_hz), waveform, after_speech(0, rate_hz)])


def quiet_room(samples: int, rng: np.random.Generator) -> Waveform:
    """Return comfort noise of its own, Float32[samples]."""
    return white_noise(samples, rng) * np.float32(10 ** (LEVEL_DB / 20))


def _noise(samples: int) -> Waveform:
    """Return white noise, the same one always; none for negative numbers."""
    return _doubled(max(0, samples).bit_length())[: max(0, samples)]


@lru_cache(maxsize=32)
def _doubled(bits: int) -> Waveform:
    noise = quiet_room(1 << bits, np.random.default_rng(0))
    noise.flags.writeable = False
    return noise

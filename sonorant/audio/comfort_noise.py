"""Comfort noise (the name is of RFC 3389): the quiet around speech, where a recording begins or ends with a word.

Models are trained on utterances with some quiet before and behind them. Where there is none, the last word is in no
whole vector of features, or is emitted after the end, and the first one meets a state of silence that was never heard.
"""

from functools import lru_cache

import numpy as np

from sonorant.arrays import Waveform

__all__ = ["after_speech", "before_speech"]

_BEFORE_S, _AFTER_S = 0.1, 0.2
_LEVEL_DB = -70.0  # relative to full scale: a quiet room's, where digital silence is no room's


def before_speech(there: int, rate_hz: int) -> Waveform:
    """Return Float32[samples] that an utterance with `there` samples before its speech lacks of 0.1 s."""
    return _noise(round(_BEFORE_S * rate_hz) - there)


def after_speech(there: int, rate_hz: int) -> Waveform:
    """Return Float32[samples] that an utterance with `there` samples after its speech lacks of 0.2 s."""
    return _noise(round(_AFTER_S * rate_hz) - there)


def _noise(samples: int) -> Waveform:
    """Return white noise, the same one always; none for negative numbers."""
    return _doubled(max(0, samples).bit_length())[: max(0, samples)]


@lru_cache(maxsize=32)
def _doubled(bits: int) -> Waveform:
    noise = np.random.default_rng(0).standard_normal(1 << bits, dtype=np.float32) * np.float32(10 ** (_LEVEL_DB / 20))
    noise.flags.writeable = False
    return noise

"""Levels of waveforms: gain, full scale, which none may leave, and power."""

import numpy as np

from sonorant.arrays import Waveform

__all__ = ["amplify", "unit_power", "within_full_scale"]


def amplify(waveform: Waveform, gain_db: float) -> Waveform:
    """Return Float32[..., samples], `gain_db` louder, or by less where that would exceed full scale."""
    return within_full_scale(waveform * np.float32(10 ** (gain_db / 20)))


def within_full_scale(waveform: Waveform) -> Waveform:
    """Return the waveform, attenuated to a peak of 1 if it exceeds that: Float32[..., samples]."""
    peak = np.abs(waveform).max(initial=0)
    return waveform / peak if peak > 1 else waveform


def unit_power(waveform: Waveform) -> Waveform:
    """Return the waveform with mean square 1, or as it is if it is silent."""
    power = float(np.mean(np.square(waveform, dtype=np.float64))) if waveform.size else 0.0
    return waveform / np.float32(np.sqrt(power)) if power > 0 else waveform

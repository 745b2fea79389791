"""The high-pass that room responses need."""

import numpy as np

from sonorant.arrays import Responses
from sonorant.audio import kernels

__all__ = ["high_passed"]

_CUTOFF_HZ = 100.0


def high_passed(responses: Responses, sample_rate_hz: int) -> Responses:
    """Return responses [..., taps] without what the image method makes up below some 100 Hz.

    All images are positive, so they add up to a gain at 0 Hz that no room has, up to 37 dB above the band of speech;
    an SNR would then be mostly about rumble. The filter is the one of Allen and Berkley's program (1979, appendix).
    """
    angle = 2 * np.pi * _CUTOFF_HZ / sample_rate_hz
    radius = np.exp(-angle)
    passed = np.array(responses, np.float32, order="C")
    rows = passed.reshape(-1, passed.shape[-1])
    kernels.biquad(rows, 1, -(1 + radius), radius, -2 * radius * np.cos(angle), radius**2)
    return passed

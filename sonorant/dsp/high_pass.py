"""The high-pass that room responses need: apart from them, as scipy's filters load for a second.

Whoever reads a recipe looks at rooms; only who plays sounds in them filters.
"""

import numpy as np
from scipy.signal import lfilter

from sonorant.arrays import Responses

__all__ = ["high_passed"]

_CUTOFF_HZ = 100.0


def high_passed(responses: Responses, sample_rate_hz: int) -> Responses:
    """Return responses [..., taps] without what the image method makes up below some 100 Hz.

    All images are positive, so they add up to a gain at 0 Hz that no room has, up to 37 dB above the band of speech;
    an SNR would then be mostly about rumble. The filter is the one of Allen and Berkley's program (1979, appendix).
    """
    angle = 2 * np.pi * _CUTOFF_HZ / sample_rate_hz
    radius = np.exp(-angle)
    zeros, poles = (1.0, -(1 + radius), radius), (1.0, -2 * radius * np.cos(angle), radius**2)
    passed: Responses = lfilter(zeros, poles, responses, axis=-1).astype(np.float32)
    return passed

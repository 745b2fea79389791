"""The 8-bit codes of telephony (ITU-T Recommendation G.711): mu-law and A-law.

Both laws are piecewise linear: a sign, three bits for the octave (the segment) and four for the position within it.
mu-law adds a bias, so that its segments are exact octaves; A-law lets the two lowest share one step.
"""

import numpy as np
from numpy.typing import NDArray

from sonorant.audio.pcm import Samples

__all__ = ["decode_a_law", "decode_mu_law", "encode_a_law", "encode_mu_law"]

_MU_BIAS = 33
_MU_MOST = 8158  # of 14 bits, sign apart
_A_MOST = 4095  # of 13 bits, sign apart
_EVEN_BITS = 0x55  # that A-law inverts, so that silence is no row of zeros on the line

_Codes = NDArray[np.uint8]


def encode_mu_law(samples: Samples) -> _Codes:
    """Return the 8-bit codes of 16-bit samples, of which mu-law keeps the upper 14: UInt8[...]."""
    level = samples.astype(np.int32) >> 2
    magnitude = np.minimum(np.where(level < 0, -level, level), _MU_MOST) + _MU_BIAS
    segment = _highest_bit(magnitude) - 5
    code = (segment << 4) | ((magnitude >> (segment + 1)) & 0xF)
    return (~np.where(level < 0, code | 0x80, code)).astype(np.uint8)


def decode_mu_law(codes: _Codes) -> Samples:
    """Return the 16-bit samples that mu-law codes stand for: Int16[...]."""
    code = ~codes.astype(np.int32)
    magnitude = ((((code & 0xF) << 1) + _MU_BIAS) << ((code >> 4) & 7)) - _MU_BIAS
    return (4 * np.where(code & 0x80, -magnitude, magnitude)).astype(np.int16)


def encode_a_law(samples: Samples) -> _Codes:
    """Return the 8-bit codes of 16-bit samples, of which A-law keeps the upper 13: UInt8[...]."""
    level = samples.astype(np.int32) >> 3
    magnitude = np.minimum(np.where(level < 0, ~level, level), _A_MOST)
    segment = np.maximum(_highest_bit(magnitude) - 4, 0)
    code = (segment << 4) | ((magnitude >> np.maximum(segment, 1)) & 0xF)
    return (np.where(level < 0, code, code | 0x80) ^ _EVEN_BITS).astype(np.uint8)


def decode_a_law(codes: _Codes) -> Samples:
    """Return the 16-bit samples that A-law codes stand for: Int16[...]."""
    code = codes.astype(np.int32) ^ _EVEN_BITS
    segment = (code >> 4) & 7
    magnitude = ((((code & 0xF) << 1) + 1 + np.where(segment, 32, 0)) << np.maximum(segment, 1)) >> 1
    return (8 * np.where(code & 0x80, magnitude, -magnitude)).astype(np.int16)


def _highest_bit(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the position of each value's highest bit that is set, from 0; -1 for 0."""
    return np.frexp(values.astype(np.float64))[1].astype(np.int32) - 1

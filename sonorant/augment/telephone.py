"""A telephone line: a band of 300 to 3,400 Hz, and 8 bits a sample after ITU-T Recommendation G.711.

Both laws are piecewise linear: a sign, three bits for the octave (the segment) and four for the position within it.
mu-law adds a bias, so that its segments are exact octaves; A-law lets the two lowest share one step.
"""

from collections.abc import Callable
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sonorant.arrays import Waveform
from sonorant.audio.convolution import convolved
from sonorant.audio.levels import within_full_scale
from sonorant.audio.pcm import Samples, from_int16, to_int16
from sonorant.augment.speed import change_speed
from sonorant.augment.stage import Augmentation, Stage, StageSection, by_chance
from sonorant.delivery.example import Example
from sonorant.section import Fraction

__all__ = [
    "LINE_RATE_HZ",
    "TELEPHONE",
    "TelephoneRecipe",
    "decode_a_law",
    "decode_mu_law",
    "encode_a_law",
    "encode_mu_law",
    "line_filter",
    "telephone",
    "telephone_stage",
]

LINE_RATE_HZ = 8000
_BAND_HZ = (300, 3400)
_TAPS = 161  # a transition of some 160 Hz, centred on the band's edges
_MU_BIAS = 33
_MU_MOST = 8158  # of 14 bits, sign apart
_A_MOST = 4095  # of 13 bits, sign apart
_EVEN_BITS = 0x55  # that A-law inverts, so that silence is no row of zeros on the line

_Codes = NDArray[np.uint8]


class TelephoneRecipe(StageSection):
    """A telephone line: 300 to 3,400 Hz, 8 bits a sample, 8,000 samples a second (ITU-T G.711)."""

    stage: Literal["telephone"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are telephoned.")
    codecs: tuple[Literal["mu_law", "a_law"], ...] = Field(
        ("mu_law", "a_law"), min_length=1, description="Each utterance draws one of these."
    )


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


_CODECS: dict[str, Callable[[Samples], Samples]] = {
    "mu_law": lambda samples: decode_mu_law(encode_mu_law(samples)),
    "a_law": lambda samples: decode_a_law(encode_a_law(samples)),
}


@cache
def line_filter() -> NDArray[np.float32]:
    """Return a line's taps, Float32[161]: its ideal band under a Hamming window, with gain 1 in the band's middle."""
    low, high = (2 * edge_hz / LINE_RATE_HZ for edge_hz in _BAND_HZ)  # 1: half the sample rate
    time = np.arange(_TAPS) - _TAPS // 2
    taps = (high * np.sinc(high * time) - low * np.sinc(low * time)) * np.hamming(_TAPS)
    middle = np.cos(np.pi * (low + high) / 2 * time)
    filtering: NDArray[np.float32] = (taps / (taps @ middle)).astype(np.float32)
    return filtering


def telephone(waveform: Waveform, sample_rate_hz: int, codec: Literal["mu_law", "a_law"]) -> Waveform:
    """Return Float32[..., samples] as it leaves a telephone line, at its old rate, length and timing.

    What exceeds full scale on the line is clipped there.
    """
    line = change_speed(waveform, sample_rate_hz / LINE_RATE_HZ)
    line = convolved(line, line_filter())[..., _TAPS // 2 : _TAPS // 2 + line.shape[-1]]
    received = from_int16(_CODECS[codec](to_int16(line)))
    return change_speed(received, received.shape[-1] / waveform.shape[-1])


def telephone_stage(recipe: TelephoneRecipe) -> Stage:
    """Return the stage; it draws whether to act, then the codec."""

    def change(example: Example, waveform: Waveform, rng: np.random.Generator) -> Example:
        codec = recipe.codecs[int(rng.integers(len(recipe.codecs)))]
        return example._replace(waveform=within_full_scale(telephone(waveform, example.sample_rate_hz, codec)))

    return by_chance(recipe.probability, change)


def _highest_bit(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the position of each value's highest bit that is set, from 0; -1 for 0."""
    return np.frexp(values.astype(np.float64))[1].astype(np.int32) - 1


TELEPHONE = Augmentation(
    TelephoneRecipe,
    lambda section, context: telephone_stage(section),
    effect="300 to 3,400 Hz in 8 bits, µ-law or A-law",
    source="ITU-T G.711",
)

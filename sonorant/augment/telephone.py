"""A telephone line: a band of 300 to 3,400 Hz, and 8 bits a sample after ITU-T Recommendation G.711."""

from collections.abc import Callable
from functools import cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sonorant.arrays import Waveform
from sonorant.audio.convolution import convolved
from sonorant.audio.g711 import decode_a_law, decode_mu_law, encode_a_law, encode_mu_law
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
    "line_filter",
    "telephone",
    "telephone_stage",
]

LINE_RATE_HZ = 8000
_BAND_HZ = (300, 3400)
_TAPS = 161  # a transition of some 160 Hz, centred on the band's edges


class TelephoneRecipe(StageSection):
    """A telephone line: 300 to 3,400 Hz, 8 bits a sample, 8,000 samples a second (ITU-T G.711)."""

    stage: Literal["telephone"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are telephoned.")
    codecs: tuple[Literal["mu_law", "a_law"], ...] = Field(
        ("mu_law", "a_law"), min_length=1, description="Each utterance draws one of these."
    )


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


TELEPHONE = Augmentation(
    TelephoneRecipe,
    lambda section, context: telephone_stage(section),
    effect="300 to 3,400 Hz in 8 bits, µ-law or A-law",
    source="ITU-T G.711",
)

"""Equaliser: a filter with a smooth response over frequency, such as microphones and loudspeakers have."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sonorant.arrays import Waveform
from sonorant.audio.convolution import convolved
from sonorant.audio.levels import within_full_scale
from sonorant.audio.monotone_curve import monotone_curve
from sonorant.augment.stage import Augmentation, Stage, StageSection, by_chance
from sonorant.delivery.example import Example
from sonorant.section import Fraction

__all__ = ["EQUALISER", "EqualiserRecipe", "Phase", "equalise", "equaliser_stage", "smooth_curve"]

Phase = Literal["minimum", "zero"]

_LOWEST_HZ = 100.0  # below it speech has nothing, and a short filter cannot follow
_FILTER_S = 0.128  # resolves 8 Hz, far finer than the curves
_OVERSAMPLING = 8  # of the spectrum, against aliasing of the cepstrum


class EqualiserRecipe(StageSection):
    """The response of an unknown microphone: a smooth random curve over frequency."""

    stage: Literal["equaliser"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are filtered.")
    points: int = Field(
        6, ge=2, le=12, description="Frequencies whose gains are drawn, evenly over the octaves; 2 make a mere tilt."
    )
    most_db: float = Field(6.0, gt=0, le=24, description="Largest gain and largest loss, in decibels.")
    phase: Literal["minimum", "zero"] = Field("minimum", description="minimum: as devices have it; zero: no delay.")


def smooth_curve(
    points_hz: Sequence[float], gains_db: Sequence[float], at_hz: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return a gain in decibels at each frequency of `at_hz`, in its shape.

    The curve passes through the points over the logarithm of frequency without overshoot (`monotone_curve`), hence
    stays within the points' gains; outside the points it is level.
    """
    octaves = np.log2(np.clip(at_hz, points_hz[0], points_hz[-1]))
    return monotone_curve(np.log2(points_hz), np.asarray(gains_db, np.float64), octaves)


def equalise(
    waveform: Waveform, sample_rate_hz: int, points_hz: Sequence[float], gains_db: Sequence[float], phase: Phase
) -> Waveform:
    """Return Float32[..., samples], filtered with `smooth_curve`, of the same length.

    With phase zero sounds stay where they are. With minimum the response is causal, as a device's, and each frequency
    is moved by its group delay: with the recipe's defaults (6 points, 6 dB), at 8 kHz, by at most 1.3 ms, either way,
    from 300 to 3,400 Hz and 5.3 ms from 100 Hz on; with its steepest curves (12 points, 24 dB) by 13 and 40 ms.
    """
    taps = 2 * round(_FILTER_S * sample_rate_hz / 2)
    size = _OVERSAMPLING * taps
    gain_db = smooth_curve(points_hz, gains_db, np.fft.rfftfreq(size, 1 / sample_rate_hz))
    samples, before = waveform.shape[-1], taps // 2
    if phase == "zero":
        response = np.roll(np.fft.irfft(10 ** (gain_db / 20), size), before)[: taps + 1] * np.hanning(taps + 1)
    else:
        response, before = _minimum_phase(gain_db, size)[:taps] * np.hanning(2 * taps)[taps:], 0
    return np.ascontiguousarray(convolved(waveform, response.astype(np.float32))[..., before : before + samples])


def equaliser_stage(recipe: EqualiserRecipe) -> Stage:
    """Return the stage; it draws whether to act, then a gain for each point, from 100 Hz to half the sample rate."""

    def change(example: Example, waveform: Waveform, rng: np.random.Generator) -> Example:
        points_hz = np.geomspace(_LOWEST_HZ, example.sample_rate_hz / 2, recipe.points)
        gains_db = rng.uniform(-recipe.most_db, recipe.most_db, recipe.points)
        filtered = equalise(waveform, example.sample_rate_hz, points_hz.tolist(), gains_db.tolist(), recipe.phase)
        return example._replace(waveform=within_full_scale(filtered))

    return by_chance(recipe.probability, change)


def _minimum_phase(gain_db: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return Float64[size], the causal response with this magnitude and the least delay.

    Folds the cepstrum onto its causal half (Oppenheim and Schafer, "Discrete-Time Signal Processing", chapter 13).
    """
    cepstrum = np.fft.irfft(gain_db * (np.log(10) / 20), size)
    cepstrum[1 : size // 2] *= 2
    cepstrum[size // 2 + 1 :] = 0
    response: NDArray[np.float64] = np.fft.irfft(np.exp(np.fft.rfft(cepstrum)), size)
    return response


EQUALISER = Augmentation(
    EqualiserRecipe,
    lambda section, context: equaliser_stage(section),
    effect="another microphone's response",
)

"""Speed perturbation: a recording played faster or slower, which moves tempo, pitch and formants together.

Ko et al., "Audio augmentation for speech recognition", Interspeech 2015. Deep Speech (section 4) warns that a network
must not see the same speech too often; playing it at another speed is the cheapest way to make it other speech.
"""

from typing import Literal, Self

import numpy as np
import soxr
from pydantic import Field, model_validator

from sonorant.arrays import Waveform
from sonorant.audio.levels import within_full_scale
from sonorant.augment.stage import Augmentation, Stage, StageSection, by_chance
from sonorant.delivery.example import Example, WordSpan
from sonorant.section import Fraction, Interval

__all__ = ["SPEED", "SpeedRecipe", "change_speed", "moved", "speed_stage"]


class SpeedRecipe(StageSection):
    """Speed perturbation by resampling (Ko et al. 2015)."""

    stage: Literal["speed"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are played at another speed.")
    factor: Interval = Field(Interval(low=0.9, high=1.1), description="Speed; above 1 is faster and higher.")

    @model_validator(mode="after")
    def _audible(self) -> Self:
        if not 0.5 <= self.factor.low <= self.factor.high <= 2:
            raise ValueError(f"factor={self.factor.low}..{self.factor.high}: must lie in 0.5..2; 0.9..1.1 is usual")
        return self


def change_speed(waveform: Waveform, factor: float) -> Waveform:
    """Return Float32[..., samples / factor, rounded]: `factor` times as fast, frequencies `factor` times as high."""
    samples = waveform.shape[-1]
    wanted = max(1, round(samples / factor))
    resampled: Waveform = soxr.resample(waveform.T.copy(), samples / wanted, 1.0).T
    return np.ascontiguousarray(_with_length(resampled, wanted))


def speed_stage(recipe: SpeedRecipe) -> Stage:
    """Return the stage; it draws whether to act, then the factor."""

    def change(example: Example, waveform: Waveform, rng: np.random.Generator) -> Example:
        played = within_full_scale(change_speed(waveform, rng.uniform(recipe.factor.low, recipe.factor.high)))
        return example._replace(waveform=played, words=moved(example.words, played.shape[-1] / waveform.shape[-1]))

    return by_chance(recipe.probability, change)


def moved(words: tuple[WordSpan, ...], ratio: float) -> tuple[WordSpan, ...]:
    """Return the words of a recording that lasts `ratio` times as long."""
    return tuple(WordSpan(word, start_s * ratio, end_s * ratio) for word, start_s, end_s in words)


def _with_length(waveform: Waveform, samples: int) -> Waveform:
    """Cut, or end in silence, by the sample that the resampler may be off."""
    missing = samples - waveform.shape[-1]
    if missing <= 0:
        return waveform[..., :samples]
    return np.pad(waveform, [(0, 0)] * (waveform.ndim - 1) + [(0, missing)])


SPEED = Augmentation(
    SpeedRecipe,
    lambda section, context: speed_stage(section),
    effect="plays faster or slower",
    source="Ko et al. 2015",
)

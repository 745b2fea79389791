"""Gain: another level, as of near or far, loud or soft speakers."""

from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from sonorant.arrays import Waveform
from sonorant.audio.levels import amplify
from sonorant.augment.stage import Augmentation, Stage, StageSection, by_chance
from sonorant.delivery.example import Example
from sonorant.section import Fraction, Interval

__all__ = ["GAIN", "GainRecipe", "gain_stage"]

_MOST_GAIN_DB = 60.0


class GainRecipe(StageSection):
    """Another level: near or far, loud or soft."""

    stage: Literal["gain"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances whose level changes.")
    gain_db: Interval = Field(
        Interval(low=-20, high=6), description="Gain in decibels; what would exceed full scale gets less."
    )

    @model_validator(mode="after")
    def _audible(self) -> Self:
        if not -_MOST_GAIN_DB <= self.gain_db.low <= self.gain_db.high <= _MOST_GAIN_DB:
            raise ValueError(
                f"gain_db={self.gain_db.low}..{self.gain_db.high}: must lie in "
                f"{-_MOST_GAIN_DB:g}..{_MOST_GAIN_DB:g}; -20..6 is usual"
            )
        return self


def gain_stage(recipe: GainRecipe) -> Stage:
    """Return the stage; it draws whether to act, then the gain, the same for all microphones."""

    def change(example: Example, waveform: Waveform, rng: np.random.Generator) -> Example:
        return example._replace(waveform=amplify(waveform, rng.uniform(recipe.gain_db.low, recipe.gain_db.high)))

    return by_chance(recipe.probability, change)


GAIN = Augmentation(
    GainRecipe,
    lambda section, context: gain_stage(section),
    effect="another level",
)

"""Vocal effort: the change of voices in noise (Lombard effect).

Deep Speech (4.2) recorded it by playing noise to its readers; corpora of quiet rooms lack it. Three changes stand in
for it, all growing with one effort from 0 to 1: a higher level; more energy above the first formants, since the glottal
spectrum falls less; and longer syllables (Junqua, "The Lombard reflex and its role on human listeners and automatic
speech recognizers", JASA 93, 1993). Pitch and articulation change too in truth, and stay here.
"""

from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from sonorant.arrays import Waveform
from sonorant.audio.levels import amplify, unit_power
from sonorant.audio.stretch import stretch
from sonorant.augment.equaliser import equalise
from sonorant.augment.speed import moved
from sonorant.augment.stage import Augmentation, Stage, StageSection, by_chance
from sonorant.delivery.example import Example
from sonorant.section import Fraction, Interval

__all__ = ["LOMBARD", "LombardRecipe", "lombard_stage", "tilt"]

_FROM_HZ, _TO_HZ = 500.0, 4000.0  # where the spectrum of a raised voice rises against that of a normal one


class LombardRecipe(StageSection):
    """A voice raised against noise (Deep Speech, 4.2): louder, brighter, slower; each grows with the effort."""

    stage: Literal["lombard"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances whose speaker makes an effort.")
    effort: Interval = Field(Interval(low=0, high=1), description="Effort, 0 (none) to 1.")
    level_db: float = Field(10.0, ge=0, le=30, description="Gain at full effort, in decibels.")
    tilt_db_per_octave: float = Field(
        3.0, ge=0, le=6, description="Rise of the spectrum from 500 Hz to 4 kHz at full effort, in decibels an octave."
    )
    stretch: float = Field(1.1, ge=1, le=1.5, description="New duration over old one at full effort.")

    @model_validator(mode="after")
    def _human(self) -> Self:
        if not 0 <= self.effort.low <= self.effort.high <= 1:
            raise ValueError(f"effort={self.effort.low}..{self.effort.high}: must lie in 0..1")
        return self


def tilt(waveform: Waveform, sample_rate_hz: int, db_per_octave: float) -> Waveform:
    """Return Float32[..., samples] of the same power, whose spectrum rises by so much from 500 Hz to 4 kHz."""
    top_hz = min(_TO_HZ, sample_rate_hz / 2)
    rise_db = db_per_octave * float(np.log2(top_hz / _FROM_HZ))
    tilted = equalise(waveform, sample_rate_hz, (_FROM_HZ, top_hz), (0.0, rise_db), "zero")
    power = float(np.mean(np.square(waveform, dtype=np.float64)))
    return unit_power(tilted) * np.float32(np.sqrt(power))


def lombard_stage(recipe: LombardRecipe) -> Stage:
    """Return the stage; it draws whether to act, then the effort. Words move with the speech."""

    def change(example: Example, waveform: Waveform, rng: np.random.Generator) -> Example:
        effort = rng.uniform(recipe.effort.low, recipe.effort.high)
        rate_hz = example.sample_rate_hz
        longer = stretch(waveform, 1 + effort * (recipe.stretch - 1), rate_hz)
        raised = amplify(tilt(longer, rate_hz, effort * recipe.tilt_db_per_octave), effort * recipe.level_db)
        return example._replace(waveform=raised, words=moved(example.words, longer.shape[-1] / waveform.shape[-1]))

    return by_chance(recipe.probability, change)


LOMBARD = Augmentation(
    LombardRecipe,
    lambda section, context: lombard_stage(section),
    effect="raises the voice: louder, brighter, slower",
    source="Deep Speech, 4.2",
)

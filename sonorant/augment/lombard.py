"""Vocal effort: how people change their voice to be heard in noise (Lombard effect).

Deep Speech (4.2) recorded it by playing noise to its readers; corpora of quiet rooms lack it. Three changes stand in
for it, all growing with one effort from 0 to 1: a higher level; more energy above the first formants, since the glottal
spectrum falls less; and longer syllables (Junqua, "The Lombard reflex and its role on human listeners and automatic
speech recognizers", JASA 93, 1993). Pitch and articulation change too in truth, and stay here.
"""

import numpy as np

from sonorant.arrays import Waveform
from sonorant.audio.levels import amplify, unit_power
from sonorant.audio.stretch import stretch
from sonorant.augment.equaliser import equalise
from sonorant.augment.speed import moved
from sonorant.augment.stage import Stage, by_chance
from sonorant.delivery.example import Example
from sonorant.recipe.signal import LombardRecipe

__all__ = ["lombard_stage", "tilt"]

_FROM_HZ, _TO_HZ = 500.0, 4000.0  # where the spectrum of a raised voice rises against that of a normal one


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

"""Gain: another level, as of who is near or far, loud or soft."""

import numpy as np

from sonorant.arrays import Waveform
from sonorant.audio.levels import amplify
from sonorant.augment.stage import Stage, by_chance
from sonorant.delivery.example import Example
from sonorant.recipe.channel import GainRecipe

__all__ = ["gain_stage"]


def gain_stage(recipe: GainRecipe) -> Stage:
    """Return the stage; it draws whether to act, then the gain, the same for all microphones."""

    def change(example: Example, waveform: Waveform, rng: np.random.Generator) -> Example:
        return example._replace(waveform=amplify(waveform, rng.uniform(recipe.gain_db.low, recipe.gain_db.high)))

    return by_chance(recipe.probability, change)

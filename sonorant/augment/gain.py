"""Levels: a random gain, and full scale, which no waveform may leave."""

import numpy as np

from sonorant.arrays import Waveform
from sonorant.augment.stage import Stage, by_chance
from sonorant.delivery.example import Example
from sonorant.recipe.channel import GainRecipe

__all__ = ["amplify", "gain_stage", "within_full_scale"]


def amplify(waveform: Waveform, gain_db: float) -> Waveform:
    """Return Float32[..., samples], `gain_db` louder, or by less where that would exceed full scale."""
    return within_full_scale(waveform * np.float32(10 ** (gain_db / 20)))


def within_full_scale(waveform: Waveform) -> Waveform:
    """Return the waveform, turned down to a peak of 1 if it exceeds that: Float32[..., samples]."""
    peak = np.abs(waveform).max(initial=0)
    return waveform / peak if peak > 1 else waveform


def gain_stage(recipe: GainRecipe) -> Stage:
    """Return the stage; it draws whether to act, then the gain, the same for all microphones."""

    def change(example: Example, waveform: Waveform, rng: np.random.Generator) -> Example:
        return example._replace(waveform=amplify(waveform, rng.uniform(recipe.gain_db.low, recipe.gain_db.high)))

    return by_chance(recipe.probability, change)

"""SpecAugment: masks over bins and over time (Park 2019, section 2; no time warping).

What is hidden becomes the mean of its bin over the utterance. Park sets it to 0, the mean of features that are
normalised; here the model normalises, bin by bin, and this mean is what an utterance knows of the value that becomes 0
there. A 0 put in before would be far outside of all that speech gives: the logarithm of silence, or less.
"""

import numpy as np

from sonorant.arrays import Features
from sonorant.augment.stage import Stage
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.recipe.spec_augment import SpecAugmentRecipe

__all__ = ["mask", "spec_augment_stage"]

_LEAST_SHARE = 5  # a time mask covers at most one part in so many of an utterance: Park's p = 0.2


def mask(features: Features, recipe: SpecAugmentRecipe, stack: int, rng: np.random.Generator) -> Features:
    """Return Float32[vectors, stack * bins], masked; a frequency mask hides the same bins in each stacked frame.

    Widths are uniform over 0..widest, and so are starts over all places where the mask fits.
    """
    vectors, bins = len(features), features.shape[1] // stack
    hidden = np.zeros((vectors, stack, bins), bool)
    for _ in range(recipe.frequency_masks):
        hidden[:, :, _band(bins, recipe.frequency_mask_bins, rng)] = True
    for _ in range(recipe.time_masks):
        hidden[_band(vectors, min(recipe.time_mask_vectors, vectors // _LEAST_SHARE), rng)] = True
    mean = features.mean(axis=0, dtype=np.float64).astype(np.float32)
    return np.where(hidden.reshape(features.shape), mean, features)


def spec_augment_stage(recipe: SpecAugmentRecipe, stack: int) -> Stage:
    """Return the stage; it draws whether to act, then width and start of each mask, over bins first."""

    def stage(example: Example, rng: np.random.Generator) -> Example:
        acts = rng.random() < recipe.probability
        if example.features is None:
            raise RejectedExample("no features to mask; spec_augment comes after the featurizer")
        return example._replace(features=mask(example.features, recipe, stack, rng)) if acts else example

    return stage


def _band(size: int, widest: int, rng: np.random.Generator) -> slice:
    width = int(rng.integers(0, widest, endpoint=True))
    start = int(rng.integers(0, size - width, endpoint=True))
    return slice(start, start + width)

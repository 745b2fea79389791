"""SpecAugment: masks over bins and over time (Park 2019, section 2; no time warping).

Masked values become the mean of their bin over the utterance. Park sets them to 0, the mean of normalised features;
here the model normalises, bin by bin, and this mean estimates the value that becomes 0 there. A 0 before normalisation
would be far outside the range of speech: the logarithm of silence, or less.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from sonorant.arrays import Features
from sonorant.augment.stage import Augmentation, Stage, StageSection
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.section import Fraction

__all__ = ["SPEC_AUGMENT", "SpecAugmentRecipe", "mask", "spec_augment_stage"]

_LEAST_SHARE = 5  # a time mask covers at most one part in so many of an utterance: Park's p = 0.2


class SpecAugmentRecipe(StageSection):
    """SpecAugment: random bands of mel bins and of time are hidden (Park 2019, section 2; no time warping)."""

    works_on: ClassVar[Literal["waveform", "features"]] = "features"

    stage: Literal["spec_augment"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are masked.")
    frequency_masks: int = Field(2, ge=0, le=8, description="Masks over bins.")
    frequency_mask_bins: int = Field(8, ge=1, description="Widest frequency mask, in bins of one frame.")
    time_masks: int = Field(2, ge=0, le=8, description="Masks over vectors.")
    time_mask_vectors: int = Field(
        10, ge=1, description="Longest time mask, in stacked vectors; never more than a fifth of the utterance."
    )

    def check(self, earlier: Sequence[StageSection], frame_bins: int) -> None:
        """Raise ValueError if the widest frequency mask is wider than a frame."""
        if self.frequency_masks and self.frequency_mask_bins > frame_bins:
            raise ValueError(
                f"stages: spec_augment.frequency_mask_bins={self.frequency_mask_bins}: a frame of features "
                f"has {frame_bins} bins; a sixth to a third of them is usual"
            )


def mask(features: Features, recipe: SpecAugmentRecipe, stack: int, rng: np.random.Generator) -> Features:
    """Return Float32[vectors, stack * bins], masked; a frequency mask hides the same bins in each stacked frame.

    Widths are uniform over 0..widest, and so are starts over all positions at which the mask fits.
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


SPEC_AUGMENT = Augmentation(
    SpecAugmentRecipe,
    lambda section, context: spec_augment_stage(section, context.stack),
    effect="hides bands of the features' bins and of time",
    source="Park 2019, 2",
)

"""Recipe: stages that work on features, hence after the featurizer."""

from typing import Literal

from pydantic import Field

from sonorant.section import Fraction, Section

__all__ = ["FeatureStageRecipe", "SpecAugmentRecipe"]


class FeatureStageRecipe(Section):
    """A stage on features; in a recipe it stands after all stages on waveforms."""

    stage: str = Field(description="Name of the stage.")


class SpecAugmentRecipe(FeatureStageRecipe):
    """SpecAugment: random bands of mel bins and of time are hidden (Park 2019, section 2; no time warping)."""

    stage: Literal["spec_augment"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are masked.")
    frequency_masks: int = Field(2, ge=0, le=8, description="Masks over bins.")
    frequency_mask_bins: int = Field(8, ge=1, description="Widest frequency mask, in bins of one frame.")
    time_masks: int = Field(2, ge=0, le=8, description="Masks over vectors.")
    time_mask_vectors: int = Field(
        10, ge=1, description="Longest time mask, in stacked vectors; never more than a fifth of the utterance."
    )

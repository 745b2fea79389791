"""How late a frame tells what it has heard: its number alone says when by the steps of frames, not by their windows."""

from sonorant.features.front_end import FeatureExtractor
from sonorant.recipe import Recipe
from sonorant.recipe.head_delay import head_delay_vectors

__all__ = ["frame_lag_s"]


def frame_lag_s(recipe: Recipe, extractor: FeatureExtractor) -> float:
    """Return the seconds from the end of a frame's step to that of its audio, less those by which labels come late.

    A frame's step is `framing.block` vectors of `features.stride` windows. Stacks that are longer than their stride,
    and convolutions over time that are wider than theirs, reach further; heads that were trained to stop
    `training.head_delay_frames` behind their labels tell them later.
    """
    framing, features = recipe.model.framing, recipe.features
    overlap_s = (features.stack - features.stride) * extractor.hop / extractor.sample_rate_hz
    return overlap_s + (framing.wider - head_delay_vectors(recipe)) * extractor.vector_seconds

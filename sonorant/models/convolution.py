"""The convolution before a model's LSTM layers, of the kind that its recipe names."""

from typing import TypeAlias

from sonorant.models.convolution_2d import Convolution2d
from sonorant.models.frequency_convolution import FrequencyConvolution
from sonorant.models.shared_section import ConvolvedSection

__all__ = ["Convolution", "convolution_of"]

Convolution: TypeAlias = FrequencyConvolution | Convolution2d


def convolution_of(recipe: ConvolvedSection, bins: int, seed: int) -> Convolution:
    """Return the layer for stacked vectors of so many values; where the recipe has no convolution, the identity."""
    if recipe.convolution_2d is not None:
        return Convolution2d(bins, recipe.convolution_2d, seed)
    return FrequencyConvolution(bins, recipe.convolution, seed)

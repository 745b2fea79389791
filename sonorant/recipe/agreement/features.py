"""Features are of the sample rate, and the model is of the features."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonorant.recipe.tree import Sections

__all__ = ["check_features"]


def check_features(recipe: "Sections") -> None:
    """Refuse bands beyond half of the sample rate, and features that the model cannot be of."""
    nyquist_hz = recipe.corpus.sample_rate_hz / 2
    high_hz = recipe.features.high_hz if recipe.features.high_hz is not None else nyquist_hz
    if not recipe.features.low_hz < high_hz <= nyquist_hz:
        raise ValueError(
            f"features.low_hz={recipe.features.low_hz} and features.high_hz={high_hz}: need "
            f"low_hz < high_hz <= {nyquist_hz}, half of corpus.sample_rate_hz"
        )
    recipe.model.check(recipe.features, recipe.features.frame_bins(recipe.corpus.sample_rate_hz))

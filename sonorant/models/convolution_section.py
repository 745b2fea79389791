"""Recipe: a model's convolution over frequency."""

from pydantic import Field

from sonorant.features.section import FeaturesRecipe
from sonorant.section import Section

__all__ = ["FrequencyConvolutionRecipe"]


class FrequencyConvolutionRecipe(Section):
    """Convolution over mel bins and max-pooling before the first LSTM layer, for invariance to speakers."""

    frames: int = Field(
        ge=1, le=16, description="Frames in a vector: must equal features.stack, which a model's section does not see."
    )
    filters: int = Field(64, ge=1, le=4096, description="Filters of each of the two convolutions.")
    width_bins: int = Field(8, ge=1, le=128, description="Width of the first convolution's filters, in mel bins.")
    pool_bins: int = Field(
        3, ge=1, le=16, description="Size and stride of the max-pooling, in positions of the first convolution."
    )
    pooled_width_bins: int = Field(4, ge=1, le=128, description="Width of the second convolution's filters, in maxima.")
    size: int = Field(256, ge=1, le=8192, description="Output size of the linear projection behind them.")

    def maxima(self, bins: int) -> int:
        """Return the number of maxima over so many bins: of whole pools of the first convolution's positions."""
        return max(0, bins - self.width_bins + 1) // self.pool_bins

    def positions(self, bins: int) -> int:
        """Return the number of the second convolution's positions over so many bins; below 1 if none fits."""
        return self.maxima(bins) - self.pooled_width_bins + 1

    def check(self, features: FeaturesRecipe, frame_bins: int) -> None:
        """Raise ValueError if vectors of these features, frames of so many bins, have no such convolution."""
        if features.kind not in ("power_mel", "log_mel"):
            raise ValueError(
                f"model.convolution with features.kind={features.kind}: shares weights over mel bins; take power_mel "
                "or log_mel, or leave it out"
            )
        if self.frames != features.stack:
            raise ValueError(
                f"model.convolution.frames={self.frames} with features.stack={features.stack}: a filter spans all "
                "frames of a vector; set both to the same number"
            )
        if self.width_bins > frame_bins:
            raise ValueError(
                f"model.convolution.width_bins={self.width_bins} with features.mel_bins={frame_bins}: a filter must "
                "not be wider than the spectrum; lower it, 8 is usual"
            )
        if self.positions(frame_bins) < 1:
            raise ValueError(
                f"model.convolution.pooled_width_bins={self.pooled_width_bins}: must be at most the number of maxima, "
                f"{self.maxima(frame_bins)} with features.mel_bins={frame_bins}, width_bins={self.width_bins} and "
                f"pool_bins={self.pool_bins}; lower any of these three"
            )

"""Recipe: a model's convolution over time and frequency."""

from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from pydantic import Field, field_validator

from sonorant.features.section import FeaturesRecipe
from sonorant.section import Section

__all__ = ["Convolution2dLayerRecipe", "Convolution2dRecipe", "FeatureMap"]


class FeatureMap(NamedTuple):
    """Size of a feature map: frames, and in each so many bins; below 1 where no window fits."""

    frames: int
    bins: int


class Convolution2dLayerRecipe(Section):
    """A layer: convolution without padding, max-pooling over bins, a rectifier."""

    filters: int = Field(ge=1, le=4096, description="Filters of the layer.")
    width_frames: int = Field(3, ge=1, le=16, description="Width of a filter in frames.")
    width_bins: int = Field(3, ge=1, le=128, description="Width of a filter in bins.")
    stride_frames: int = Field(1, ge=1, le=16, description="Frames from one position of a filter to the next.")
    pool_bins: int = Field(2, ge=1, le=16, description="Size and stride of the max-pooling, in bins.")

    def feature_map(self, before: FeatureMap) -> FeatureMap:
        """Return what the layer makes of one."""
        frames = (before.frames - self.width_frames) // self.stride_frames + 1
        return FeatureMap(frames, max(0, before.bins - self.width_bins + 1) // self.pool_bins)


class Convolution2dRecipe(Section):
    """Convolution over time and frequency before the first LSTM layer, within each stacked vector."""

    frames: int = Field(
        ge=1, le=16, description="Frames in a vector: must equal features.stack, which a model's section does not see."
    )
    layers: tuple[Convolution2dLayerRecipe, ...] = Field(
        (
            Convolution2dLayerRecipe(filters=32, width_frames=5, width_bins=5, stride_frames=2, pool_bins=2),
            Convolution2dLayerRecipe(filters=32),
            Convolution2dLayerRecipe(filters=64, stride_frames=2),
        ),
        max_length=16,
        json_schema_extra={"minItems": 1},  # `_some` says it better
        description="The layers, in order; the default's fit vectors of 16 frames of 40 bins.",
    )
    batch_normalisation: bool = Field(
        True,
        description="Whether each layer's values are normalised over the batch; "
        "with truncated unrolling over a chunk, and moments of few rows are noisy.",
    )
    size: int = Field(256, ge=1, le=8192, description="Output size of the linear projection behind them.")

    @field_validator("layers", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value  # of JSON, as for `BfaRecipe.pooling`

    @field_validator("layers", mode="after")
    @classmethod
    def _some(cls, value: tuple[Convolution2dLayerRecipe, ...]) -> tuple[Convolution2dLayerRecipe, ...]:
        if not value:
            raise ValueError("found none; expected at least one")
        return value

    def feature_maps(self, bins: int) -> list[FeatureMap]:
        """Return a vector's frames of so many bins, and what each layer leaves of them."""
        return list(
            accumulate(
                self.layers,
                lambda before, layer: layer.feature_map(before),
                initial=FeatureMap(self.frames, bins),
            )
        )

    def check(self, features: FeaturesRecipe, frame_bins: int) -> None:
        """Raise ValueError if vectors of these features, frames of so many bins, have no such convolution."""
        if features.kind == "mfcc":
            raise ValueError(
                "model.convolution_2d with features.kind=mfcc: shares weights over bins; take power_mel, log_mel or "
                "spectrogram, or leave it out"
            )
        if self.frames != features.stack:
            raise ValueError(
                f"model.convolution_2d.frames={self.frames} with features.stack={features.stack}: its layers see all "
                "frames of a vector; set both to the same number"
            )
        feature_maps = self.feature_maps(frame_bins)
        for number, (before, after) in enumerate(pairwise(feature_maps)):
            layer = self.layers[number]
            if layer.width_frames > before.frames or layer.width_bins > before.bins:
                raise ValueError(
                    f"model.convolution_2d.layers.{number}: windows of {layer.width_frames} frames and "
                    f"{layer.width_bins} bins; expected at most {before.frames} and {before.bins}"
                )
            if after.bins < 1:
                raise ValueError(
                    f"model.convolution_2d.layers.{number}.pool_bins={layer.pool_bins}: expected at most "
                    f"{before.bins - layer.width_bins + 1}, the positions of a window of {layer.width_bins} bins there"
                )

"""Recipe: what the front end computes."""

from typing import Literal, Self

from pydantic import Field, model_validator

from sonorant.section import Section

__all__ = ["FeaturesRecipe"]


class FeaturesRecipe(Section):
    """What the featurizer computes; training and recognition use the same function."""

    kind: Literal["power_mel", "log_mel", "mfcc", "spectrogram"] = Field("power_mel", description="Kind of features.")
    window_ms: float = Field(25.0, gt=0, le=200, description="Length of the Hann window, in milliseconds.")
    hop_ms: float = Field(10.0, gt=0, le=200, description="Time from frame to frame, in milliseconds.")
    mel_bins: int = Field(40, ge=4, le=256, description="Mel filters (all kinds but spectrogram).")
    low_hz: float = Field(20.0, ge=0, description="Lower edge of the mel filters, in hertz.")
    high_hz: float | None = Field(
        None, description="Upper edge of the mel filters, in hertz; absent: half the sample rate."
    )
    power: float = Field(1 / 15, gt=0, le=1, description="Exponent of power_mel (Samsung, 2.3: 1/15).")
    cepstra: int = Field(13, ge=1, description="Coefficients kept (mfcc only).")
    stack: int = Field(3, ge=1, le=16, description="Frames joined to one vector.")
    stride: int = Field(3, ge=1, le=16, description="Frames from one vector to the next.")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.hop_ms > self.window_ms:
            raise ValueError(
                f"hop_ms={self.hop_ms} is above window_ms={self.window_ms}: samples between frames would be lost"
            )
        if self.stride > self.stack:
            raise ValueError(f"stride={self.stride} is above stack={self.stack}: frames between vectors would be lost")
        if self.kind == "mfcc" and self.cepstra > self.mel_bins:
            raise ValueError(f"cepstra={self.cepstra} is above mel_bins={self.mel_bins}")
        return self

    def window_samples(self, sample_rate_hz: int) -> int:
        """Return the length of the window in samples, at least 1."""
        return max(1, round(self.window_ms * sample_rate_hz / 1000))

    def transform_size(self, sample_rate_hz: int) -> int:
        """Return the shortest FFT that holds the window, a power of 2; where mel filters are narrow, it is longer."""
        return max(2, 1 << (self.window_samples(sample_rate_hz) - 1).bit_length())

    def frame_bins(self, sample_rate_hz: int) -> int:
        """Return the number of values in one frame, before frames are stacked."""
        sizes = {"mfcc": self.cepstra, "spectrogram": self.transform_size(sample_rate_hz) // 2 + 1}
        return sizes.get(self.kind, self.mel_bins)

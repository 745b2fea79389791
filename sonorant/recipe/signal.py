"""Recipe: the signal stages that an utterance passes through, and its features."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sonorant.recipe.channel import EqualiserRecipe, GainRecipe, TelephoneRecipe
from sonorant.recipe.spec_augment import SpecAugmentRecipe
from sonorant.section import Fraction, Interval, Section

__all__ = [
    "FeaturesRecipe",
    "LombardRecipe",
    "NoiseRecipe",
    "NoiseStylesRecipe",
    "RoomRecipe",
    "SceneRecipe",
    "SpeedRecipe",
    "StageRecipe",
    "SuperpositionRecipe",
    "VtlpRecipe",
]


class VtlpRecipe(Section):
    """Vocal tract length perturbation with resynthesis (Samsung, 2.3, Eq. 1)."""

    stage: Literal["vtlp"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are warped.")
    alpha: Interval = Field(Interval(low=0.8, high=1.2), description="Warping factor; below 1 raises frequencies.")
    window_ms: float = Field(50.0, gt=0, le=500, description="Window of the analysis and resynthesis, in milliseconds.")

    @model_validator(mode="after")
    def _invertible(self) -> Self:
        if not 0 < self.alpha.low <= self.alpha.high < 2:
            raise ValueError(
                f"alpha={self.alpha.low}..{self.alpha.high}: the bilinear map needs 0 < alpha < 2; 0.8..1.2 is usual"
            )
        return self


class SpeedRecipe(Section):
    """Speed perturbation by resampling (Ko et al. 2015)."""

    stage: Literal["speed"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are played at another speed.")
    factor: Interval = Field(Interval(low=0.9, high=1.1), description="Speed; above 1 is faster and higher.")

    @model_validator(mode="after")
    def _audible(self) -> Self:
        if not 0.5 <= self.factor.low <= self.factor.high <= 2:
            raise ValueError(f"factor={self.factor.low}..{self.factor.high}: must lie in 0.5..2; 0.9..1.1 is usual")
        return self


class LombardRecipe(Section):
    """A voice raised against noise (Deep Speech, 4.2): louder, brighter, slower; each grows with the effort."""

    stage: Literal["lombard"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances whose speaker makes an effort.")
    effort: Interval = Field(Interval(low=0, high=1), description="Effort, 0 (none) to 1.")
    level_db: float = Field(10.0, ge=0, le=30, description="Gain at full effort, in decibels.")
    tilt_db_per_octave: float = Field(
        3.0, ge=0, le=6, description="Rise of the spectrum from 500 Hz to 4 kHz at full effort, in decibels an octave."
    )
    stretch: float = Field(1.1, ge=1, le=1.5, description="New duration over old one at full effort.")

    @model_validator(mode="after")
    def _human(self) -> Self:
        if not 0 <= self.effort.low <= self.effort.high <= 1:
            raise ValueError(f"effort={self.effort.low}..{self.effort.high}: must lie in 0..1")
        return self


class NoiseRecipe(Section):
    """What noise sources play."""

    kinds: tuple[Literal["white", "pink", "babble", "folder"], ...] = Field(
        ("white", "pink", "babble"), min_length=1, description="Each source draws one of these."
    )
    folder: str = Field("", description="Folder of noise recordings, below the data folder (kind folder only).")
    babble_voices: int = Field(4, ge=1, le=32, description="Utterances that are mixed to babble.")

    @model_validator(mode="after")
    def _folder_named(self) -> Self:
        if ("folder" in self.kinds) != bool(self.folder):
            raise ValueError(
                f"kinds={list(self.kinds)} and folder={self.folder!r}: give the folder exactly when kinds has 'folder'"
            )
        return self


class SuperpositionRecipe(Section):
    """Noises laid over the speech, if they are like real ones (Deep Speech, 4.1)."""

    stage: Literal["superposition"] = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that get noise.")
    noises: tuple[int, int] = Field((1, 3), description="Fewest and most noises at once, 1 to 16.")
    snr_db: Interval = Field(Interval(low=5, high=25), description="Speech to all noise, in decibels.")
    noise: NoiseRecipe = Field(NoiseRecipe(), description="Where candidates come from.")
    reference: str = Field(
        "",
        description="Folder of real noisy recordings, below the data folder; absent: equal power in all octaves.",
    )
    tolerance_db: float = Field(
        20.0,
        gt=0,
        description="A candidate whose share of the power in an octave is off the reference's by more is redrawn.",
    )

    @model_validator(mode="after")
    def _countable(self) -> Self:
        fewest, most = self.noises
        if not 1 <= fewest <= most <= 16:
            raise ValueError(f"noises={fewest}..{most}: need 1 <= fewest <= most <= 16")
        return self


class SceneRecipe(Section):
    """Distributions of a random shoebox with one speaker, noise sources and microphones (Samsung, 2.3)."""

    stage: str = Field(description="Name of the stage.")
    probability: Fraction = Field(1.0, description="Share of the utterances that are played in a room.")
    length_m: Interval = Field(Interval(low=3, high=10), description="Length of the room, in metres.")
    width_m: Interval = Field(Interval(low=3, high=8), description="Width of the room, in metres.")
    height_m: Interval = Field(Interval(low=2.4, high=4), description="Height of the room, in metres.")
    t60_s: Interval = Field(Interval(low=0.1, high=0.6), description="Reverberation time, in seconds.")
    snr_db: Interval = Field(
        Interval(low=5, high=25), description="Speech to noise at the first microphone, in decibels."
    )
    noise_sources: tuple[int, int] = Field((1, 3), description="Fewest and most noise sources, 0 to 3.")
    microphones: Literal[1, 2] = Field(1, description="Number of microphones.")
    snr_speech: Literal["early", "reverberant"] = Field(
        "early", description="Speech that the SNR counts: what arrives within 50 ms of the direct sound, or all."
    )
    direct_delay: Literal["removed", "kept"] = Field(
        "removed",
        description="Time that the direct sound takes to the first microphone: removed, so that words stay where they "
        "were, or kept. The length stays either way.",
    )
    tail_after_ms: float | None = Field(
        None,
        ge=1,
        description="Time after the direct sound from which reflections are a statistical tail, in milliseconds; 50 is "
        "usual; absent: each reflection is exact.",
    )
    microphone_spacing_m: float = Field(0.071, gt=0, le=1, description="Distance between two microphones, in metres.")
    wall_distance_m: float = Field(0.3, gt=0, description="Least distance of anything to a wall, in metres.")
    noise: NoiseRecipe = Field(NoiseRecipe(), description="What the noise sources play.")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        fewest, most = self.noise_sources
        if not 0 <= fewest <= most <= 3:
            raise ValueError(f"noise_sources={fewest}..{most}: need 0 <= fewest <= most <= 3")
        if self.t60_s.low <= 0:
            raise ValueError(f"t60_s={self.t60_s.low}..{self.t60_s.high}: must be above 0; 0.1..0.6 is usual")
        smallest_m = (self.length_m.low, self.width_m.low, self.height_m.low)
        if min(smallest_m) <= 2 * self.wall_distance_m:
            raise ValueError(
                f"the smallest room side, {min(smallest_m)} m, leaves no place between walls {self.wall_distance_m} m "
                "away; take a larger room or a shorter wall_distance_m"
            )
        if self.microphones == 2 and min(smallest_m[:2]) <= 2 * self.wall_distance_m + self.microphone_spacing_m:
            raise ValueError(
                f"the smallest room side, {min(smallest_m[:2])} m, leaves no place between walls "
                f"{self.wall_distance_m} m away for microphones {self.microphone_spacing_m} m apart"
            )
        _check_longest_t60(self.t60_s.high, smallest_m)
        return self


class RoomRecipe(SceneRecipe):
    """Acoustic simulator: another room for each utterance (Samsung, 2.3)."""

    stage: Literal["room"] = Field(description="Name of the stage.")


class NoiseStylesRecipe(SceneRecipe):
    """A fixed catalogue of rooms with noise, of which each utterance draws one (Google, 4)."""

    stage: Literal["noise_styles"] = Field(description="Name of the stage.")
    styles: int = Field(100, ge=1, le=1000, description="Styles in the catalogue; their responses stay in memory.")
    catalogue_seed: int = Field(
        0, ge=0, description="The catalogue follows from this and the distributions, whatever the recipe's seed."
    )


def _check_longest_t60(t60_s: float, room_m: tuple[float, float, float]) -> None:
    """Refuse distributions of which not even the smallest room can have the longest T60: then none can have any."""
    from sonorant.audio.decay import absorption_of  # only recipes with rooms pay for these imports
    from sonorant.audio.image_method import ImpossibleRoom

    try:
        absorption_of(t60_s, room_m)
    except ImpossibleRoom as error:
        raise ValueError(str(error)) from error


StageRecipe = Annotated[
    SpeedRecipe
    | VtlpRecipe
    | LombardRecipe
    | RoomRecipe
    | NoiseStylesRecipe
    | SuperpositionRecipe
    | GainRecipe
    | EqualiserRecipe
    | TelephoneRecipe
    | SpecAugmentRecipe,
    Field(discriminator="stage"),
]


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

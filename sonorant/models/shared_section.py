"""Recipe: what the sections of several families share."""

from typing import ClassVar, Literal

from pydantic import Field

from sonorant.features.section import FeaturesRecipe
from sonorant.models.convolution_2d_section import Convolution2dRecipe
from sonorant.models.convolution_section import FrequencyConvolutionRecipe
from sonorant.models.framing import Framing
from sonorant.section import Section

__all__ = ["ConvolvedSection", "ModelSection", "NormalisedSection"]

_GREATEST_POWER = 0.1  # with which the floor of a running level is 20 dB below the corpus' peaks


class ModelSection(Section):
    """What the sections of all families share.

    anneals_dropout: whether the rate of dropout can change in training. label_synchronous: whether outputs are by
    label, and not by frame. carries_state: whether it is a `Carrying` one, which truncated unrolling needs. monotonic:
    whether attention may go past the last frame, so that a label's weights sum to less than 1. of_text: whether it is a
    language model, which is trained on text alone.
    """

    anneals_dropout: ClassVar[bool] = False
    label_synchronous: ClassVar[bool] = False
    carries_state: ClassVar[bool] = False
    monotonic: ClassVar[bool] = False
    of_text: ClassVar[bool] = False

    @property
    def framing(self) -> Framing:
        """Frames of an utterance; by default one for each vector."""
        return Framing()

    @property
    def fewest_layers(self) -> int | None:
        """Layers of the encoder that layer-wise pretraining can begin with; None: the family cannot grow."""
        return None

    @property
    def encoder_layers(self) -> int:
        """Layers of the encoder; only families that can grow have such."""
        raise NotImplementedError

    @property
    def joint_ctc(self) -> bool:
        """Whether a label-synchronous family has CTC outputs by frame too, which training needs `ctc_weight` for."""
        return False

    def check(self, features: FeaturesRecipe, frame_bins: int) -> None:
        """Raise ValueError if the model cannot be of these features, frames of so many bins."""

    def check_unrolled(self, found: str) -> None:
        """Raise ValueError, which begins with `found`, if truncated unrolling would train another model than this."""


class NormalisedSection(ModelSection):
    """A model whose encoder receives features of a level, and less a mean, of the recipe's choice."""

    level: Literal["absolute", "running"] = Field(
        "absolute",
        description="Level of features: as they are, or divided by the utterance's recent peak, so that voices up to "
        "30 dB softer than the corpus' are as good (power_mel only).",
    )
    normalisation: Literal["global", "running"] = Field(
        "global",
        description="Mean taken from features: the corpus', or a running mean over the speech of the utterance so far.",
    )
    memory_vectors: float = Field(
        67,
        ge=1,
        le=1_000_000,
        description="Vectors after which the running mean has forgotten all but a 1/e; the running level forgets a "
        "peak in ten times as many.",
    )

    def check(self, features: FeaturesRecipe, frame_bins: int) -> None:
        """See `ModelSection`."""
        if self.level == "running" and features.kind != "power_mel":
            raise ValueError(f"model.level=running with features.kind={features.kind}: expected power_mel")
        if self.level == "running" and features.power > _GREATEST_POWER:
            raise ValueError(
                f"model.level=running with features.power={features.power}: expected at most {_GREATEST_POWER}, with "
                "which a soft voice's level is above the least one"
            )


class ConvolvedSection(NormalisedSection):
    """A model of LSTM layers that may have a convolution before them."""

    convolution: FrequencyConvolutionRecipe | None = Field(
        None, description="Convolution over frequency before the first LSTM layer; absent: none."
    )
    convolution_2d: Convolution2dRecipe | None = Field(
        None, description="Convolution over time and frequency before the first LSTM layer; absent: none."
    )

    def check(self, features: FeaturesRecipe, frame_bins: int) -> None:
        """See `ModelSection`."""
        super().check(features, frame_bins)
        if self.convolution is not None and self.convolution_2d is not None:
            raise ValueError("model.convolution and model.convolution_2d: only one can be before the LSTM layers")
        for convolution in (self.convolution, self.convolution_2d):
            if convolution is not None:
                convolution.check(features, frame_bins)

    def check_unrolled(self, found: str) -> None:
        """See `ModelSection`: batch normalisation counts what pads a tail."""
        if self.framing.tail and self.convolution_2d is not None and self.convolution_2d.batch_normalisation:
            raise ValueError(
                f"{found}would normalise the padding behind utterances of this family; set "
                "model.convolution_2d.batch_normalisation to false, or unroll_vectors to 0"
            )

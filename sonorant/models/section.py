"""Recipe: the model, a section for each family."""

import math
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, field_validator, model_validator

from sonorant.features.section import FeaturesRecipe
from sonorant.models.convolution_2d_section import Convolution2dRecipe
from sonorant.models.convolution_section import FrequencyConvolutionRecipe
from sonorant.models.framing import Framing
from sonorant.section import Section

__all__ = [
    "BfaRecipe",
    "ConvLstmCtcRecipe",
    "ConvolvedSection",
    "DeepSpeechRecipe",
    "DelayedLstmRecipe",
    "LstmCtcRecipe",
    "LstmLmRecipe",
    "MochaRecipe",
    "ModelRecipe",
    "ModelSection",
    "NormalisedSection",
    "TransformerLmRecipe",
]


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


class LstmCtcRecipe(ConvolvedSection):
    """Uni-directional LSTM encoder with CTC."""

    carries_state: ClassVar[bool] = True

    family: Literal["lstm_ctc"] = Field("lstm_ctc", description="Family of the model.")
    layers: int = Field(2, ge=1, le=16, description="LSTM layers.")
    cells: int = Field(160, ge=1, le=8192, description="Cells of each LSTM layer.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of each layer's outputs that is dropped in training.")
    dropout_over: Literal["frame", "utterance"] = Field(
        "frame", description="What is drawn for: every frame, or an utterance as a whole."
    )

    @property
    def fewest_layers(self) -> int | None:
        """See `ModelSection`: the first and the top one."""
        return 2

    @property
    def encoder_layers(self) -> int:
        """See `ModelSection`."""
        return self.layers


class DeepSpeechRecipe(NormalisedSection):
    """Deep Speech: three feed-forward layers, a bidirectional recurrent one, another, CTC; whole utterances only."""

    anneals_dropout: ClassVar[bool] = True

    family: Literal["deep_speech"] = Field(description="Family of the model.")
    cells: int = Field(2048, ge=1, le=16384, description="Units of each of the five layers.")
    context_vectors: int = Field(9, ge=0, le=64, description="Vectors of context on each side of the first layer's.")
    stride: int = Field(2, ge=1, le=8, description="Vectors from one frame of the first layer to the next.")
    ceiling: float = Field(20.0, gt=0, description="Value at which rectifiers are clipped.")
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of feed-forward layers' outputs dropped in training.")

    @property
    def framing(self) -> Framing:
        """Frames of an utterance: one for each stride that has begun."""
        return Framing(block=self.stride, tail=self.stride - 1)


class ConvLstmCtcRecipe(ModelSection):
    """A strided convolution over time, uni-directional LSTM layers with peepholes and batch normalisation, CTC."""

    anneals_dropout: ClassVar[bool] = True

    family: Literal["conv_lstm_ctc"] = Field(description="Family of the model.")
    width_vectors: int = Field(8, ge=1, le=64, description="Vectors in a window of the convolution.")
    stride: int = Field(2, ge=1, le=16, description="Vectors from one window to the next, so from frame to frame.")
    filters: int = Field(256, ge=1, le=8192, description="Filters of the convolution.")
    layers: int = Field(5, ge=1, le=16, description="LSTM layers.")
    cells: int = Field(960, ge=1, le=8192, description="Cells of each LSTM layer.")
    peepholes: bool = Field(True, description="Whether gates see the cell state.")
    batch_normalisation: bool = Field(True, description="Whether each layer's values are normalised over the batch.")
    logits: Literal["linear", "relu", "relu6"] = Field(
        "relu", description="Activation of the last layer: none, a rectifier, or one that is clipped at 6."
    )
    dropout: float = Field(0.5, ge=0, lt=1, description="Share of each LSTM layer's outputs dropped in training.")

    @property
    def framing(self) -> Framing:
        """Frames of an utterance: one for each whole window."""
        beyond = self.width_vectors - self.stride
        lead = max(0, -(-beyond // self.stride))
        return Framing(block=self.stride, lead=lead, tail=lead * self.stride - beyond)


class DelayedLstmRecipe(LstmCtcRecipe):
    """Uni-directional LSTM encoder whose output comes some vectors late, for right context."""

    family: Literal["delayed_lstm"] = Field(description="Family of the model.")  # type: ignore[assignment]
    layers: int = Field(5, ge=1, le=16, description="LSTM layers.")
    cells: int = Field(768, ge=1, le=8192, description="Cells of each LSTM layer.")
    delay_vectors: int = Field(5, ge=0, le=64, description="Vectors by which the output of a frame comes late.")

    @property
    def framing(self) -> Framing:
        """Frames of an utterance: one for each vector, once those of the delay have come."""
        return Framing(lead=self.delay_vectors, tail=self.delay_vectors)


class BfaRecipe(ConvolvedSection):
    """Bidirectional full attention: LSTM encoder with time reduction, LSTM decoder, attention with weight feedback."""

    label_synchronous: ClassVar[bool] = True

    family: Literal["bfa"] = Field(description="Family of the model.")
    layers: int = Field(6, ge=1, le=16, description="Bidirectional LSTM layers of the encoder.")
    cells: int = Field(1024, ge=1, le=8192, description="Cells of each encoder layer in each direction.")
    pooling: tuple[Annotated[int, Field(ge=1, le=32)], ...] = Field(
        (3, 2),
        description="Time reduction by max-pooling: frames that become one after the first, second, … layer.",
    )
    decoder_cells: int = Field(1000, ge=1, le=8192, description="Cells of the decoder's LSTM.")
    embedding: int = Field(620, ge=1, le=8192, description="Size of a label's embedding.")
    attention: int = Field(1024, ge=1, le=8192, description="Size of the attention's hidden layer.")
    readout: int = Field(1000, ge=2, le=8192, multiple_of=2, description="Linear units of the readout before maxout.")
    ctc: bool = Field(False, description="Whether the encoder has a CTC projection; training.ctc_weight needs it.")
    dropout: float = Field(
        0.3, ge=0, lt=1, description="Share of each encoder layer's outputs and of the readout dropped in training."
    )

    @property
    def framing(self) -> Framing:
        """A frame for as many vectors as all poolings make one; the last one may be of fewer."""
        block = math.prod(self.pooling)
        return Framing(block, tail=block - 1)

    @property
    def fewest_layers(self) -> int | None:
        """See `ModelSection`: the first and the top one, and as many as there are poolings."""
        return max(2, len(self.pooling))

    @property
    def encoder_layers(self) -> int:
        """See `ModelSection`."""
        return self.layers

    @property
    def joint_ctc(self) -> bool:
        """See the field `ctc`."""
        return self.ctc

    @field_validator("pooling", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value  # of JSON: `_with_family` makes Python values of it

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if len(self.pooling) > self.layers:
            raise ValueError(
                f"pooling={list(self.pooling)}: after {len(self.pooling)} layers, but layers={self.layers}"
            )
        return self


class MochaRecipe(BfaRecipe):
    """Monotonic chunkwise attention: uni-directional LSTM encoder with time reduction, LSTM decoder; streaming."""

    monotonic: ClassVar[bool] = True

    family: Literal["mocha"] = Field(description="Family of the model.")  # type: ignore[assignment]
    layers: int = Field(6, ge=1, le=16, description="LSTM layers of the encoder.")
    cells: int = Field(1024, ge=1, le=8192, description="Cells of each encoder layer.")
    chunk: int = Field(2, ge=1, le=32, description="Encoded frames that a label attends to, the last one the head's.")
    energy_offset: float = Field(
        -4.0,
        ge=-20,
        le=20,
        description="First value of the monotonic energy's offset: the lower, the later labels attend.",
    )
    energy_scale: float = Field(
        0.0,
        ge=0,
        le=100,
        description="First value of the monotonic energy's scale, which short trainings hardly change; 0: the paper's, "
        "1 / sqrt(attention).",
    )


class LstmLmRecipe(ModelSection):
    """LSTM language model (Zeyer 2018); trained on a corpus of text."""

    of_text: ClassVar[bool] = True

    family: Literal["lstm_lm"] = Field(description="Family of the model.")
    layers: int = Field(4, ge=1, le=16, description="LSTM layers.")
    cells: int = Field(2048, ge=1, le=8192, description="Cells of each LSTM layer.")
    embedding: int = Field(128, ge=1, le=8192, description="Size of a label's embedding.")
    dropout: float = Field(0.0, ge=0, lt=1, description="Share of embedding and layers' outputs dropped in training.")


class TransformerLmRecipe(ModelSection):
    """Transformer language model without positional encoding (Irie 2019); trained on a corpus of text."""

    of_text: ClassVar[bool] = True

    family: Literal["transformer_lm"] = Field(description="Family of the model.")
    layers: int = Field(24, ge=1, le=128, description="Layers, each of self-attention and a feed-forward network.")
    size: int = Field(1024, ge=1, le=8192, description="Size of the layers' outputs, a multiple of `heads`.")
    heads: int = Field(8, ge=1, le=64, description="Heads of the self-attention.")
    feed_forward: int = Field(4096, ge=1, le=32768, description="Hidden size of the feed-forward networks.")
    embedding: int = Field(128, ge=1, le=8192, description="Size of a label's embedding.")
    dropout: float = Field(
        0.0, ge=0, lt=1, description="Share of the embedding, and of what each sublayer adds, dropped in training."
    )

    @model_validator(mode="after")
    def _divisible(self) -> Self:
        if self.size % self.heads:
            raise ValueError(f"size={self.size}: must be a multiple of heads={self.heads}, which share it evenly")
        return self


def _with_family(section: Any) -> Any:
    """Name the first family in a section that names none."""
    return {"family": "lstm_ctc", **section} if isinstance(section, dict) else section


ModelRecipe: TypeAlias = Annotated[
    LstmCtcRecipe
    | BfaRecipe
    | ConvLstmCtcRecipe
    | DeepSpeechRecipe
    | DelayedLstmRecipe
    | LstmLmRecipe
    | MochaRecipe
    | TransformerLmRecipe,
    Field(discriminator="family"),
    BeforeValidator(_with_family),
]
"""The union of all families' sections, told apart by `family`."""

"""Recipe: the model, a section for each family; those of language models are in `language_model_section.py`."""

import math
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import BeforeValidator, Field, field_validator, model_validator

from sonorant.models.framing import Framing
from sonorant.models.language_model_section import LstmLmRecipe, TransformerLmRecipe
from sonorant.models.shared_section import ConvolvedSection, ModelSection, NormalisedSection

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

    def check_unrolled(self, found: str) -> None:
        """See `ModelSection`: one mask lasts for all chunks of an utterance."""
        super().check_unrolled(found)
        if self.dropout_over != "frame":
            raise ValueError(
                f"{found}draws dropout chunk by chunk; found model.dropout_over={self.dropout_over}, whose mask lasts "
                "for an utterance; set it to frame"
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

    @property
    def fewest_layers(self) -> int | None:
        """See `ModelSection`: the first and the top one."""
        return 2

    @property
    def encoder_layers(self) -> int:
        """See `ModelSection`."""
        return self.layers


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
    """Monotonic chunkwise attention: LSTM encoder with time reduction, LSTM decoder; streaming."""

    monotonic: ClassVar[bool] = True

    family: Literal["mocha"] = Field(description="Family of the model.")  # type: ignore[assignment]
    layers: int = Field(6, ge=1, le=16, description="LSTM layers of the encoder.")
    cells: int = Field(
        1024, ge=1, le=8192, description="Cells of each encoder layer, with look_ahead in each direction."
    )
    chunk: int = Field(2, ge=1, le=32, description="Encoded frames that a label attends to, the last one the head's.")
    look_ahead: int = Field(
        0,
        ge=0,
        le=64,
        description="Encoded frames that each layer looks ahead, and at most twice as many: it is bidirectional, and "
        "runs backwards through a chunk of so many frames from the end of the next one. Frames come late by a chunk "
        "for each layer and the rest of their own; 0: layers hear the past alone.",
    )
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

    @property
    def framing(self) -> Framing:
        """See `BfaRecipe`; with `look_ahead` frames come in chunks, each layer one chunk later than the one below."""
        framing = super().framing
        if not self.look_ahead:
            return framing
        lead = self.layers * self.look_ahead
        return Framing(framing.block, lead, framing.tail + lead * framing.block, self.look_ahead)

    @property
    def fewest_layers(self) -> int | None:
        """See `BfaRecipe`; with `look_ahead` the latency follows from the layers, which cannot grow then."""
        return None if self.look_ahead else super().fewest_layers


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

"""Recipe: the model, a section for each family."""

from typing import Literal, TypeAlias

from pydantic import Field

from sonorant.models.framing import Framing
from sonorant.section import Section

__all__ = ["LstmCtcRecipe", "ModelRecipe", "ModelSection"]


class ModelSection(Section):
    """What the sections of all families share."""

    @property
    def framing(self) -> Framing:
        """Frames of an utterance; by default one for each vector."""
        return Framing()


class LstmCtcRecipe(ModelSection):
    """Uni-directional LSTM encoder with CTC."""

    family: Literal["lstm_ctc"] = Field("lstm_ctc", description="Family of the model.")
    layers: int = Field(2, ge=1, le=16, description="LSTM layers.")
    cells: int = Field(160, ge=1, le=8192, description="Cells of each LSTM layer.")
    normalisation: Literal["global", "running"] = Field(
        "global",
        description="Mean taken from features: the corpus', or a running mean over the speech of the utterance so far.",
    )
    memory_vectors: float = Field(
        67, ge=1, description="Vectors after which the running mean has forgotten all but a 1/e (running only)."
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="Share of each layer's outputs that is dropped in training.")
    dropout_over: Literal["frame", "utterance"] = Field(
        "frame", description="What is drawn for: every frame, or an utterance as a whole."
    )


ModelRecipe: TypeAlias = LstmCtcRecipe
"""The union of all families' sections, told apart by `family`."""

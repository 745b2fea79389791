"""Recipe: language models, which are trained on text alone."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from sonorant.models.shared_section import ModelSection

__all__ = ["LstmLmRecipe", "TransformerLmRecipe"]


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

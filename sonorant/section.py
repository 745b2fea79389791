"""The base of all sections of a recipe: frozen, unknown keys refused, every field described."""

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = ["Fraction", "Interval", "Section"]

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


class Section(BaseModel):
    """One node of the configuration tree."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Interval(Section):
    """A uniform distribution over [low, high]."""

    low: float = Field(description="Smallest value.")
    high: float = Field(description="Largest value.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low={self.low} is above high={self.high}; swap them")
        return self

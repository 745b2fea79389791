"""Recipe: what links carry."""

from typing import Literal

from pydantic import Field

from sonorant.section import Section

__all__ = ["PayloadRecipe"]


class PayloadRecipe(Section):
    """What travels on links; in layout `fused` values are rounded alike, so that both layouts give the same bits."""

    waveform: Literal["float32", "int16"] = Field(
        "float32", description="Samples: int16 takes half of the bytes, in steps of 2⁻¹⁵ as 16-bit recordings have."
    )
    features: Literal["float32", "float16"] = Field(
        "float32", description="Features: float16 takes half of the bytes, and keeps 11 significant bits."
    )

"""Recipe: transcripts and units."""

from typing import Literal

from pydantic import Field

from sonorant.section import Section

__all__ = ["TextRecipe"]


class TextRecipe(Section):
    """Transcripts and the units that the model writes."""

    units: Literal["words", "characters", "bpe"] = Field("characters", description="What the model writes.")
    bpe_units: int = Field(512, ge=32, le=65536, description="Size of the BPE vocabulary (units: bpe only).")
    lowercase: bool = Field(True, description="Lower-case transcripts.")
    punctuation: Literal["strip", "keep"] = Field(
        "strip", description="What happens to punctuation marks; apostrophes stay."
    )

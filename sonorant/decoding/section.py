"""Recipe: decoding."""

from pydantic import Field

from sonorant.section import Section

__all__ = ["DecodingRecipe"]


class DecodingRecipe(Section):
    """Beam search: by frame (CTC) or by label, as the model's family has it."""

    beam: int = Field(8, ge=1, le=1024, description="Hypotheses kept at each frame or label.")
    unit_candidates: int = Field(
        12, ge=1, description="Units per frame that may extend a hypothesis, most probable first."
    )
    length_bonus: float = Field(0.0, description="What each label adds to a hypothesis' score (search by label).")
    coverage_weight: float = Field(
        0.0,
        ge=0,
        description="What each frame that the labels attend to adds to a hypothesis' score (search by label).",
    )
    jitter_ms: float = Field(
        0.0,
        ge=0,
        le=50,
        description="Probabilities are the mean over the audio as it is and translated by this time either way, in "
        "milliseconds; 0: as it is. Three times the work.",
    )
    stability_ms: float = Field(
        0.0, ge=0, description="An interim result is sent once it has stood this long, in milliseconds."
    )

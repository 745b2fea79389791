"""The sections of a recipe, each checked by itself, and what follows from several."""

from typing import Literal

from pydantic import Field

from sonorant.augment.table import StageRecipe
from sonorant.decoding.section import DecodingRecipe
from sonorant.errors import BadRecipe
from sonorant.features.section import FeaturesRecipe
from sonorant.models.section import LstmCtcRecipe, ModelRecipe
from sonorant.recipe.corpus import CorpusRecipe
from sonorant.recipe.pipeline import PipelineRecipe
from sonorant.recipe.serving import ServingRecipe
from sonorant.recipe.training import EvaluationRecipe, TrainingRecipe
from sonorant.section import Section
from sonorant.text.section import TextRecipe
from sonorant.tracking.section import TrackingRecipe

__all__ = ["VERSION", "Sections"]

VERSION = 1


class Sections(Section):
    """All that is configured of one run; `Recipe` holds the sections against each other."""

    version: Literal[1] = Field(description="Version of this schema.")
    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$", description="Name of the run and of the exported model.")
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of all random numbers.")
    corpus: CorpusRecipe = Field(description="Recordings and transcripts.")
    text: TextRecipe = Field(TextRecipe(), description="Transcripts and units.")
    stages: tuple[StageRecipe, ...] = Field(
        (),
        description="Augmentation, in the order in which an utterance passes it; stages on features come last, after "
        "the featurizer.",
    )
    features: FeaturesRecipe = Field(FeaturesRecipe(), description="Features.")
    pipeline: PipelineRecipe = Field(PipelineRecipe(), description="How the stages are run and linked.")
    model: ModelRecipe = Field(LstmCtcRecipe(), description="The model.")
    training: TrainingRecipe = Field(TrainingRecipe(), description="Optimisation.")
    evaluation: EvaluationRecipe = Field(EvaluationRecipe(), description="What the finished model is measured on.")
    decoding: DecodingRecipe = Field(DecodingRecipe(), description="Beam search.")
    serving: ServingRecipe = Field(ServingRecipe(), description="The recognizer.")
    tracking: TrackingRecipe = Field(TrackingRecipe(), description="The experiment tracker.")

    @property
    def of_text(self) -> bool:
        """Whether a language model is trained, on text without recordings."""
        return self.model.of_text

    @property
    def vector_bins(self) -> int:
        """Values in a feature vector; those of text have none."""
        return 0 if self.of_text else self.features.stack * self.features.frame_bins(self.corpus.sample_rate_hz)

    def require_speech(self, purpose: str) -> None:
        """Raise BadRecipe if a language model is trained: without recordings there is nothing to `purpose`."""
        if self.of_text:
            raise BadRecipe(
                f"model.family={self.model.family}: a language model is trained on text, so there is nothing to "
                f"{purpose}; its perplexity on dev is in the run's metrics.jsonl"
            )

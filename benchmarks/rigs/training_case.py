"""The families whose training steps are measured, at the sizes of recipes that train on two cores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sonorant.models.convolution_2d_section import Convolution2dRecipe
from sonorant.models.convolution_section import FrequencyConvolutionRecipe
from sonorant.recipe.loading import load_recipe
from sonorant.recipe.schema import Recipe
from sonorant.section import Section

__all__ = ["CASES", "Case"]

_RECIPES = Path(__file__).parents[2] / "recipes"


@dataclass(frozen=True)
class Case:
    """A recipe's family.

    frames: whether its objective is cross-entropy of frames, and not the recipe's own. convolution: what stands before
    its layers, as in the rows of `docs/results.md`. model, training: what these sections have in place of the recipe's.
    """

    name: str
    recipe: str
    frames: bool = False
    convolution: FrequencyConvolutionRecipe | Convolution2dRecipe | None = None
    model: Mapping[str, int] = field(default_factory=dict)
    training: Mapping[str, int | str] = field(default_factory=dict)

    def load(self) -> Recipe:
        """Return the recipe; for cross-entropy of frames without the guidance of CTC."""
        recipe = load_recipe(_RECIPES / self.recipe)
        by_frame = {"objective": "frame_cross_entropy", "alignment_weight": 0.0} if self.frames else {}
        changed: dict[str, Section] = {"training": recipe.training.model_copy(update={**self.training, **by_frame})}
        model: dict[str, int | Section] = dict(self.model)
        if (convolution := self.convolution) is not None:
            changed["features"] = recipe.features.model_copy(update={"stack": convolution.frames})
            model["convolution_2d" if isinstance(convolution, Convolution2dRecipe) else "convolution"] = convolution
        changed["model"] = recipe.model.model_copy(update=model)
        return recipe.model_copy(update=changed)


CASES = (
    Case("lstm_ctc", "digits.yaml"),
    Case("lstm_ctc, convolution", "digits.yaml", convolution=FrequencyConvolutionRecipe(frames=8, size=192)),
    Case("conv_lstm_ctc", "digits-thesis.yaml"),
    Case("deep_speech", "digits-deepspeech.yaml"),
    Case("delayed_lstm", "digits-google.yaml"),
    Case("delayed_lstm, frames", "digits-google.yaml", frames=True),
    Case("bfa", "digits-bfa.yaml"),
    Case("mocha", "digits-mocha.yaml"),
    Case("mocha, look-ahead", "digits-mocha.yaml", model={"cells": 128, "look_ahead": 4}),
    Case("lstm_ctc, convolution_2d", "digits.yaml", convolution=Convolution2dRecipe(frames=16, size=192)),
)

"""The families whose training steps are measured, at the sizes of recipes that train on two cores."""

from dataclasses import dataclass
from pathlib import Path

from sonorant.recipe.loading import load_recipe
from sonorant.recipe.schema import Recipe

__all__ = ["CASES", "DELAYED", "Case"]

_RECIPES = Path(__file__).parents[2] / "recipes"


@dataclass(frozen=True)
class Case:
    """A recipe's family. frames: whether its objective is cross-entropy of frames, and not the recipe's own."""

    name: str
    recipe: str
    frames: bool = False

    def load(self) -> Recipe:
        """Return the recipe; for cross-entropy of frames without the guidance of CTC."""
        recipe = load_recipe(_RECIPES / self.recipe)
        weight = 0.0 if self.frames else recipe.training.alignment_weight
        return recipe.model_copy(update={"training": recipe.training.model_copy(update={"alignment_weight": weight})})


DELAYED = Case("delayed_lstm", "digits-google.yaml")
CASES = (
    Case("lstm_ctc", "digits.yaml"),
    Case("conv_lstm_ctc", "digits-thesis.yaml"),
    Case("deep_speech", "digits-deepspeech.yaml"),
    DELAYED,
    Case("delayed_lstm, frames", "digits-google.yaml", frames=True),
    Case("bfa", "digits-bfa.yaml"),
    Case("mocha", "digits-mocha.yaml"),
)

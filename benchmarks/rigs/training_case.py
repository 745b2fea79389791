"""The families whose training steps are measured, at the sizes of recipes that train on two cores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sonorant.recipe.loading import load_recipe
from sonorant.recipe.schema import Recipe

__all__ = ["CASES", "Case"]

_RECIPES = Path(__file__).parents[2] / "recipes"


@dataclass(frozen=True)
class Case:
    """A recipe's family.

    frames: whether its objective is cross-entropy of frames, and not the recipe's own. training: what its section
    `training` has in place of the recipe's.
    """

    name: str
    recipe: str
    frames: bool = False
    training: Mapping[str, int | str] = field(default_factory=dict)

    def load(self) -> Recipe:
        """Return the recipe; for cross-entropy of frames without the guidance of CTC."""
        recipe = load_recipe(_RECIPES / self.recipe)
        by_frame = {"objective": "frame_cross_entropy", "alignment_weight": 0.0} if self.frames else {}
        changed = {**self.training, **by_frame}
        return recipe.model_copy(update={"training": recipe.training.model_copy(update=changed)})


CASES = (
    Case("lstm_ctc", "digits.yaml"),
    Case("conv_lstm_ctc", "digits-thesis.yaml"),
    Case("deep_speech", "digits-deepspeech.yaml"),
    Case("delayed_lstm", "digits-google.yaml"),
    Case("delayed_lstm, frames", "digits-google.yaml", frames=True),
    Case("bfa", "digits-bfa.yaml"),
    Case("mocha", "digits-mocha.yaml"),
)

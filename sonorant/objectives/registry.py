"""The objective of a recipe."""

from sonorant.objectives.ctc import CtcObjective
from sonorant.objectives.objective import Objective
from sonorant.recipe.schema import Recipe
from sonorant.text.units import Units

__all__ = ["build_objective"]


def build_objective(recipe: Recipe, units: Units) -> Objective:
    """Return the recipe's objective: CTC, guided by word ends if `training.alignment_weight` is above 0."""
    return CtcObjective(recipe.training, units, recipe.features, recipe.model.framing)

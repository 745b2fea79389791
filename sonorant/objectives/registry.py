"""The objective of a recipe."""

from sonorant.objectives.aligner import open_aligner
from sonorant.objectives.ctc import CtcObjective
from sonorant.objectives.frame_cross_entropy import FrameCrossEntropy
from sonorant.objectives.label_cross_entropy import LabelCrossEntropy
from sonorant.objectives.minimum_word_error import MinimumWordError
from sonorant.objectives.next_label import NextLabel
from sonorant.objectives.objective import Objective
from sonorant.recipe.schema import Recipe
from sonorant.text.units import Units

__all__ = ["build_objective"]


def build_objective(recipe: Recipe, units: Units) -> Objective:
    """Return the recipe's objective.

    Language models have the cross-entropy of text. Label-synchronous families have cross-entropy of labels, with CTC
    beside it if `training.ctc_weight` is above 0.
    Others have CTC, guided by the ends of units if `training.alignment_weight` is above 0; or cross-entropy of frames
    on the alignments of an exported model, which is loaded: raises BadExport or BadRecipe if it cannot align for this
    recipe.
    With `training.mwer_hypotheses` above 0 it stands, with a small weight, beside the expected word errors.
    """
    base = _base(recipe, units)
    if not recipe.training.mwer_hypotheses:
        return base
    return MinimumWordError(base, recipe.training, units, recipe.decoding.end_threshold)


def _base(recipe: Recipe, units: Units) -> Objective:
    if recipe.of_text:
        return NextLabel(units)
    if recipe.training.objective == "frame_cross_entropy":
        return FrameCrossEntropy(units, recipe.model.framing, open_aligner(recipe, units))
    chosen = LabelCrossEntropy if recipe.model.label_synchronous else CtcObjective
    return chosen(recipe.training, units, recipe.features, recipe.model.framing)

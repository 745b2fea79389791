"""Dropout annealed on a plateau: a lower rate, from the best checkpoint on, when dev has stopped getting better.

A thesis on serving speech recognizers trains so, at 50, 30 and 0 % (chapter 6.3).
"""

from sonorant.recipe.training import TrainingRecipe
from sonorant.training.checkpoint_files import Progress

__all__ = ["annealed_rate"]


def annealed_rate(recipe: TrainingRecipe, progress: Progress) -> float | None:
    """Return the dropout rate to go on with after an evaluation on dev, or None if the rate stays."""
    on_plateau = progress.looks_without_better >= recipe.anneal_patience
    if not on_plateau or progress.anneals >= len(recipe.anneal_dropout):
        return None
    return recipe.anneal_dropout[progress.anneals]

"""Learning rate schedules: a cosine of the step, or newbob, which follows dev."""

import math

from sonorant.recipe.training import TrainingRecipe

__all__ = ["decays", "learning_rate"]


def learning_rate(step: int, recipe: TrainingRecipe, decays: int = 0) -> float:
    """Return the rate of step 0, 1, …: a linear rise to the highest, then half a cosine (Loshchilov 2017, Eq. 5).

    Step `warmup_steps` has the highest rate, step `warmup_steps + decay_steps` and all later ones the lowest. With
    newbob the highest rate has decayed so many times, but not below the lowest.
    """
    if step < recipe.warmup_steps:
        return recipe.learning_rate * (step + 1) / (recipe.warmup_steps + 1)
    lowest = min(recipe.final_learning_rate, recipe.learning_rate)  # the default may be above
    if recipe.schedule == "newbob":
        return max(lowest, recipe.learning_rate * recipe.newbob_decay**decays)
    share = min((step - recipe.warmup_steps) / recipe.decay_steps, 1.0)
    return lowest + (recipe.learning_rate - lowest) * 0.5 * (1 + math.cos(math.pi * share))


def decays(recipe: TrainingRecipe, before: float | None, after: float) -> bool:
    """Return whether the rate decays after an evaluation of dev with the figure `after`; before: the one before it.

    As RETURNN's newbob (relative), (after - before) / after > -threshold: dev has gained less than the threshold.
    """
    if recipe.schedule != "newbob" or before is None:
        return False
    return after - before > -recipe.newbob_threshold * after

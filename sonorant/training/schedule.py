"""The learning rate schedule."""

import math

from sonorant.recipe.training import TrainingRecipe

__all__ = ["learning_rate"]


def learning_rate(step: int, recipe: TrainingRecipe) -> float:
    """Return the rate of step 0, 1, …: a linear rise to the highest, then half a cosine (Loshchilov 2017, Eq. 5).

    Step `warmup_steps` has the highest rate, step `warmup_steps + decay_steps` and all later ones the lowest.
    """
    if step < recipe.warmup_steps:
        return recipe.learning_rate * (step + 1) / (recipe.warmup_steps + 1)
    share = min((step - recipe.warmup_steps) / recipe.decay_steps, 1.0)
    span = recipe.learning_rate - recipe.final_learning_rate
    return recipe.final_learning_rate + span * 0.5 * (1 + math.cos(math.pi * share))

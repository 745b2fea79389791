"""The time of a training step that does not wait for its batch."""

from collections.abc import Callable

import numpy as np

from sonorant.delivery.example import Example, Lineage
from sonorant.models.computation import set_computation
from sonorant.models.registry import build_model
from sonorant.objectives.registry import build_objective
from sonorant.recipe.schema import Recipe
from sonorant.text.units import Units
from sonorant.training.collective import SingleProcess
from sonorant.training.labeller import Labeller
from sonorant.training.step import Notes
from sonorant.training.unrolling import batch_layout, build_step

__all__ = ["step_seconds"]

_STEPS = 3
_UNITS = Units("words", tuple(f"w{number}" for number in range(32)))  # they hardly change a step's time
_TEXT = "w1 w2 w3 w4"


def step_seconds(recipe: Recipe, bins: int, vectors: int, clock: Callable[[], float]) -> float:
    """Return the seconds of a step of one rank: the least of three, after the first, which traces the graph.

    The batch is noise: `training.batch_examples` utterances of `vectors` feature vectors of `bins` values. Raises
    BadRecipe with `frame_cross_entropy`, whose aligner has units of its own.
    """
    objective = build_objective(recipe, _UNITS)
    labeller = Labeller(objective, [recipe.training.batch_examples])
    items = [labeller(_noise(number, vectors, bins)) for number in range(recipe.training.batch_examples)]
    tensors = batch_layout(objective, recipe)(0, 0, items).tensors
    model = build_model(recipe.model, bins, _UNITS.size)
    set_computation(model, recipe.training.precision)
    step = build_step(model, objective, recipe, SingleProcess())
    seconds = []
    for number in range(1 + _STEPS):
        began_s = clock()
        step(tensors, number, Notes())
        seconds.append(clock() - began_s)
    return min(seconds[1:])


def _noise(number: int, vectors: int, bins: int) -> Example:
    features = np.random.default_rng(number).standard_normal((vectors, bins), np.float32)
    return Example(Lineage(0, 0, number), f"noise {number}", _TEXT, 8000, 1.0, features=features)

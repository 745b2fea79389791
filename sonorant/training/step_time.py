"""How long a training step takes when its batch is there."""

from collections.abc import Callable

import numpy as np

from sonorant.models.lstm_ctc import LstmCtc
from sonorant.recipe.schema import Recipe
from sonorant.tensorflow import tf
from sonorant.training.alignment import UNKNOWN
from sonorant.training.batch import BatchTensors
from sonorant.training.collective import SingleProcess
from sonorant.training.step import Notes, TrainStep

__all__ = ["step_seconds"]

_STEPS = 3
_UNITS, _LABELS = 32, 4  # they hardly matter to a step's time


def step_seconds(recipe: Recipe, bins: int, vectors: int, clock: Callable[[], float]) -> float:
    """Return the seconds of a step of one rank: the least of three, after the first, which traces the graph.

    The batch is noise: `training.batch_examples` utterances of `vectors` feature vectors of `bins` values.
    """
    batch, rng = recipe.training.batch_examples, np.random.default_rng(0)
    tensors = BatchTensors(
        features=tf.constant(rng.standard_normal((batch, vectors, bins)), tf.float32),
        lengths=tf.fill([batch], vectors),
        labels=tf.fill([batch, _LABELS], 1),
        label_lengths=tf.fill([batch], _LABELS),
        targets=tf.fill([batch, vectors], UNKNOWN),
        weights=tf.ones([batch]),
    )
    step = TrainStep(LstmCtc(recipe.model, bins, _UNITS), recipe, SingleProcess())
    seconds = []
    for number in range(1 + _STEPS):
        began_s = clock()
        step(tensors, number, Notes())
        seconds.append(clock() - began_s)
    return min(seconds[1:])

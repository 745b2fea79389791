"""What an optimizer promises to the training step, and which one a recipe names."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sonorant.recipe.training import TrainingRecipe
from sonorant.tensorflow import tf
from sonorant.training.adam import Adam
from sonorant.training.checkpoint_files import BadCheckpoint
from sonorant.training.nesterov import Nesterov

__all__ = ["Optimizer", "build_optimizer", "check_state"]


class Optimizer(Protocol):
    """Updates a fixed list of variables; all its state is in `state`, so that a checkpoint can hold it.

    t: number of updates, Float32.
    """

    t: tf.Variable

    def update(self, gradients: Sequence[tf.Tensor], learning_rate: tf.Tensor) -> None:
        """Change all variables by one step; part of the step's graph."""
        ...

    def state(self) -> dict[str, NDArray[np.float32]]:
        """Return t, and arrays of each variable by its position in the list."""
        ...

    def restore(self, state: Mapping[str, NDArray[np.float32]]) -> None:
        """Take over what `state` returned."""
        ...


def build_optimizer(recipe: TrainingRecipe, variables: Sequence[tf.Variable]) -> Optimizer:
    """Return the recipe's optimizer of `variables`."""
    if recipe.optimizer == "nesterov":
        return Nesterov(variables, recipe.momentum)
    return Adam(variables)


def check_state(optimizer: Optimizer, state: Mapping[str, NDArray[np.float32]]) -> None:
    """Raise BadCheckpoint if `state` is another optimizer's."""
    own = optimizer.state()
    if own.keys() != state.keys():
        raise BadCheckpoint(
            f"training.optimizer: the checkpoint's has {_kinds(state)}, this one has {_kinds(own)}; "
            "go back to the optimizer that it was made with, or train into another run folder"
        )


def _kinds(state: Mapping[str, NDArray[np.float32]]) -> list[str]:
    return sorted({name.partition("/")[0] for name in state})

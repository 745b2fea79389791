"""Steps that are not finite are skipped, and end the run if there are several in a row; weights end it at once."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sonorant.errors import SonorantError

__all__ = ["NonFiniteSteps", "NonFiniteWeights", "check_finite"]


class NonFiniteSteps(SonorantError):
    """Loss or gradient were not finite several steps in a row; `utterances` were in the last of their batches."""

    def __init__(self, step: int, count: int, utterances: list[str]) -> None:
        super().__init__(
            f"step {step}: loss or gradient not finite in {count} steps in a row; the last batch was {utterances}; "
            "the latest checkpoint has what was learnt before; look at these utterances, or lower "
            "training.learning_rate, and train on"
        )
        self.utterances = tuple(utterances)


class NonFiniteWeights(SonorantError):
    """An update of finite loss and gradient left weights that are not finite; no checkpoint has them."""

    def __init__(self, step: int, name: str) -> None:
        super().__init__(
            f"step {step}: the weights {name} are not finite; the latest checkpoint, if there is one, has what was "
            "learnt before; lower training.learning_rate, and train on"
        )


def check_finite(step: int, weights: Mapping[str, NDArray[np.float32]]) -> None:
    """Raise NonFiniteWeights if any weight, by its name, is not finite after `step`."""
    for name, values in weights.items():
        if not np.isfinite(values).all():
            raise NonFiniteWeights(step, name)

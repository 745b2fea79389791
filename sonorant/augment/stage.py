"""What a stage is: a function `(example, rng) -> example` that raises RejectedExample when it cannot do its work.

It draws from nothing but `rng`, always in the same order, so its result depends on the example alone.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from sonorant.arrays import Waveform
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample

__all__ = ["Change", "Stage", "by_chance"]

Stage: TypeAlias = Callable[[Example, np.random.Generator], Example]
Change: TypeAlias = Callable[[Example, Waveform, np.random.Generator], Example]


def by_chance(probability: float, change: Change) -> Stage:
    """Return the stage that draws whether to act, and then lets `change` make another example of this one.

    change: gets the example, its waveform and the rest of the random numbers. RejectedExample if there is no waveform.
    """

    def stage(example: Example, rng: np.random.Generator) -> Example:
        acts = rng.random() < probability
        if example.waveform is None:
            raise RejectedExample("no waveform to augment; the featurizer comes last")
        return change(example, example.waveform, rng) if acts else example

    return stage

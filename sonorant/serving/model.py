"""The contract of a session's model."""

from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.features.front_end import FeatureExtractor
from sonorant.recipe import Recipe
from sonorant.text.units import Units

__all__ = ["ModelState", "StreamingModel"]

ModelState: TypeAlias = tuple[Any, ...]


class StreamingModel(Protocol):
    """A model that maps features to log-probabilities incrementally; threads may share it, and its extractor.

    search: name of the search that reads them (`sonorant.decoding`).
    """

    name: str
    version: int
    search: str
    recipe: Recipe
    units: Units
    sample_rate_hz: int
    extractor: FeatureExtractor

    def initial_state(self) -> ModelState:
        """Return the state at the start of a stream."""

    def step(self, features: Features, state: ModelState) -> tuple[NDArray[np.float32], ModelState]:
        """Return log-probabilities [T, units + 1] of features [T, bins] that follow `state`, and the state after them.

        T >= 1. However a stream is cut into steps, its log-probabilities must be the same bit for bit.
        """

"""The contract of a session's model, and of the acoustic models that it is made of."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.decoding import Scorer
from sonorant.features.front_end import FeatureExtractor
from sonorant.recipe import Recipe
from sonorant.serving.stability import Stability
from sonorant.text.units import Units

__all__ = ["AcousticModel", "ServedModel"]


class AcousticModel(Protocol):
    """A model that maps features to frames incrementally; threads may share it, and its extractor.

    A frame has the log-probabilities of the symbols, or of a label-synchronous model is encoded. However a stream is
    cut into steps, its frames must be the same bit for bit. A model of whole utterances gives all of them at the end. A
    state is opaque, and never changed. no_frames: [0, n], of n values each.
    """

    extractor: FeatureExtractor
    no_frames: NDArray[np.float32]

    def initial_state(self) -> Any:
        """Return the state at the start of a stream."""

    def step(self, features: Features, state: Any) -> tuple[NDArray[np.float32], Any]:
        """Return the frames [T', n] that features [T, bins] after `state` complete, and the state then.

        T >= 1; there may be none.
        """

    def steps(self, due: Sequence[tuple[Features, Any]]) -> Sequence[tuple[NDArray[np.float32], Any]]:
        """Return what `step` returns for the features and state of each of several streams, to the last bit."""

    def ended(self, features: Features, state: Any) -> tuple[Features, Any]:
        """Return the last features [T, bins] of a stream and its state as `step` takes them, which knows of the end.

        So what must follow the features is computed with other streams' steps; there may be none left.
        """

    def finish(self, state: Any) -> NDArray[np.float32]:
        """Return the frames [T', n] that the end of the stream completes, and no `step` has returned; maybe none."""


class ServedModel(Protocol):
    """An exported model as sessions use it: immutable, shared by all threads.

    members: its acoustic models, one, unless it is an ensemble, whose probabilities are averaged, by frame or by label.
    search: name of the search that reads them (`sonorant.decoding`); frame_seconds: time from frame to frame;
    frame_lag_s: by which what a frame tells has ended after that (or, below 0, before). scorer: language model and
    phrases of its searches. stability: of interim results. decoder: that of a label-synchronous model or ensemble, of
    the kind that its search drives; else None.
    """

    name: str
    version: int
    search: str
    recipe: Recipe
    units: Units
    sample_rate_hz: int
    frame_seconds: float
    frame_lag_s: float
    scorer: Scorer
    stability: Stability

    @property
    def members(self) -> Sequence[AcousticModel]:
        """See the class."""

    @property
    def decoder(self) -> Any:
        """See the class."""

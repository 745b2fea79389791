"""The decoder of a monotonic model, for searches, which know arrays only; see `sonorant.decoding.monotonic_decoder`."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.monotonic_decoder import Heard, States
from sonorant.models.tensor_frames import TensorFrames

__all__ = ["TensorMonotonicDecoder"]


class TensorMonotonicDecoder(TensorFrames):
    """Holds no utterance's state, so threads may share it."""

    def __init__(self, functions: Mapping[str, Callable[..., dict[str, Any]]]) -> None:
        """functions: what `sonorant.models.monotonic_functions` returns, by the same names."""
        super().__init__(functions)
        begun = functions["monotonic_begin"]()
        self.window = int(begun["window"])
        self._begun = _states(begun)
        self._seek = functions["monotonic_seek"]
        self._look = functions["monotonic_look"]

    def begin(self) -> States:
        """See `MonotonicDecoder`."""
        return self._begun

    def seek(self, before: NDArray[np.int32], states: States) -> States:
        """See `MonotonicDecoder`."""
        return _states(self._seek(before=np.asarray(before, np.int32), **_named(states)))

    def look(self, heard: Heard, states: States) -> tuple[NDArray[np.bool_], NDArray[np.float32], States]:
        """See `MonotonicDecoder`."""
        found = self._look(frames=np.asarray(heard.offered, np.float32), **_named(states))
        return np.asarray(found["attends"]), np.asarray(found["log_probs"]), _states(found)

    def warm(self, encoded_size: int) -> None:
        """See `TensorFrames`."""
        super().warm(encoded_size)
        states = self.seek(np.zeros(1, np.int32), self.begin())
        self.look(Heard(np.zeros((1, encoded_size), np.float32), 1, over=False), states)


def _named(states: States) -> dict[str, Any]:
    return {f"state_{i}": state for i, state in enumerate(states)}


def _states(found: dict[str, Any]) -> States:
    count = sum(name.startswith("state_") for name in found)
    return tuple(np.asarray(found[f"state_{i}"]) for i in range(count))

"""The decoder of a monotonic model, for searches, which know arrays only; see `sonorant.decoding.monotonic_decoder`."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.decoding.monotonic_decoder import States
from sonorant.models.family import Monotonic
from sonorant.tensorflow import graph_function, tf

__all__ = ["TensorMonotonicDecoder", "monotonic_functions"]


class TensorMonotonicDecoder:
    """Holds no utterance's state, so threads may share it."""

    def __init__(self, functions: Any) -> None:
        """functions: what `monotonic_functions` returns, by the same names."""
        begun = functions["monotonic_begin"]()
        self.window = int(begun["window"])
        self._begun = _states(begun)
        self._seek: Callable[..., dict[str, tf.Tensor]] = functions["monotonic_seek"]
        self._look: Callable[..., dict[str, tf.Tensor]] = functions["monotonic_look"]

    def begin(self) -> States:
        """See `MonotonicDecoder`."""
        return self._begun

    def seek(self, before: NDArray[np.int32], states: States) -> States:
        """See `MonotonicDecoder`."""
        return _states(self._seek(before=tf.constant(before, tf.int32), **_named(states)))

    def look(
        self, frames: NDArray[np.float32], states: States
    ) -> tuple[NDArray[np.bool_], NDArray[np.float32], States]:
        """See `MonotonicDecoder`."""
        tensors = self._look(frames=tf.constant(frames, tf.float32), **_named(states))
        return tensors["attends"].numpy(), tensors["log_probs"].numpy(), _states(tensors)

    def warm(self, encoded_size: int) -> None:
        """Call each function once, because the first call is slow."""
        states = self.seek(np.zeros(1, np.int32), self.begin())
        self.look(np.zeros((1, encoded_size), np.float32), states)


def monotonic_functions(model: Monotonic) -> dict[str, Any]:
    """Return `monotonic_begin`, `monotonic_seek` and `monotonic_look`, of any number of hypotheses.

    `monotonic_begin` returns `window`, and the state of the first hypothesis as `state_0`, .... `monotonic_seek` takes
    these and the labels `before`, Int32[N], and returns the states after. `monotonic_look` takes states and `frames`
    Float32[at most window, size], and returns `attends` Bool[N], `log_probs` Float32[N, symbols] and the states after.
    """

    def begin() -> dict[str, tf.Tensor]:
        return _named(model.begin_seeking()) | {"window": tf.constant(model.window)}

    def seek(before: tf.Tensor, *states: tf.Tensor) -> dict[str, tf.Tensor]:
        return _named(model.seek(before, list(states)))

    def look(frames: tf.Tensor, *states: tf.Tensor) -> dict[str, tf.Tensor]:
        attends, log_probs, after = model.look(frames, list(states))
        return {"attends": attends, "log_probs": log_probs} | _named(after)

    specs = [
        tf.TensorSpec([None, *state.shape[1:]], state.dtype, f"state_{i}")
        for i, state in enumerate(model.begin_seeking())
    ]
    before = tf.TensorSpec([None], tf.int32, "before")
    frames = tf.TensorSpec([None, model.encoded_size], tf.float32, "frames")
    return {
        "monotonic_begin": graph_function(begin, input_signature=[]),
        "monotonic_seek": graph_function(seek, input_signature=[before, *specs]),
        "monotonic_look": graph_function(look, input_signature=[frames, *specs]),
    }


def _named(states: Sequence[Any]) -> dict[str, Any]:
    return {f"state_{i}": tf.convert_to_tensor(state) for i, state in enumerate(states)}


def _states(tensors: dict[str, tf.Tensor]) -> States:
    count = sum(name.startswith("state_") for name in tensors)
    return tuple(tensors[f"state_{i}"].numpy() for i in range(count))

"""The signature `stream` with the states of each stream packed: two arguments and two results, whatever the model.

Each argument and result costs as much as a small layer, and so do a function's own checks of its arguments.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.tensorflow import graph_function, tf

__all__ = ["PackedState", "PackedStream"]

PackedState: TypeAlias = NDArray[np.float32]
"""A stream's states, Float32[numbers of all]."""


class PackedStream:
    """Calls a signature of `features` Float32[rows, T, bins] and states `state_0` and so on, Float32[rows, ...].

    output: name of what it computes of the features. states: [1, ...] each, of a new stream.
    """

    def __init__(self, signature: Any, output: str, bins: int, states: Sequence[NDArray[Any]]) -> None:
        self.start: PackedState = np.concatenate([np.ravel(state) for state in states], dtype=np.float32)
        shapes = {f"state_{i}": (-1, *state.shape[1:]) for i, state in enumerate(states)}
        sizes = [state.size for state in states]

        def stream(features: tf.Tensor, packed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            parts = zip(shapes.items(), tf.split(packed, sizes, axis=1), strict=True)
            found = signature(features=features, **{name: tf.reshape(part, shape) for (name, shape), part in parts})
            after = [tf.reshape(found[name], (-1, size)) for name, size in zip(shapes, sizes, strict=True)]
            return found[output], tf.concat(after, axis=1)

        specs = [tf.TensorSpec([None, None, bins], tf.float32), tf.TensorSpec([None, sum(sizes)], tf.float32)]
        self._function = graph_function(stream, input_signature=specs).get_concrete_function()
        self._types = [tensor.dtype for tensor in self._function.outputs]

    def __call__(self, features: Features, packed: PackedState) -> tuple[NDArray[np.float32], PackedState]:
        """Return outputs [rows, T', size] of the next vectors of each row, and the states [rows, numbers] after."""
        args = [tf.constant(features), tf.constant(packed), *self._function.captured_inputs]
        outputs, after = tf.raw_ops.StatefulPartitionedCall(args=args, Tout=self._types, f=self._function)
        return outputs.numpy(), after.numpy()

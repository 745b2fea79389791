"""Steps of a stream with its states packed: two arguments and two results, whatever the model.

Each argument and result costs as much as a small layer, and so do a function's own checks of its arguments, and a loop
over time: so there is a graph of one block after another for each number of blocks.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.tensorflow import graph_function, tf

__all__ = ["MOST_BLOCKS", "PackedState", "PackedStream"]

MOST_BLOCKS = 4
"""Most blocks of a call."""

PackedState: TypeAlias = NDArray[np.float32]
"""A stream's states, Float32[numbers of all]."""


class PackedStream:
    """Calls a signature of one block of `features` Float32[rows, vectors, bins] and states `state_0` and so on.

    output: name of what it computes of the features, a frame a block. block: vectors of one, and their bins. states:
    Float32[1, ...] each, of a new stream.
    """

    def __init__(self, signature: Any, output: str, block: tuple[int, int], states: Sequence[NDArray[Any]]) -> None:
        self.start: PackedState = np.concatenate([np.ravel(state) for state in states], dtype=np.float32)
        self._signature = signature
        self._output = output
        self.block, self._bins = block
        self._shapes = [(-1, *state.shape[1:]) for state in states]
        self._sizes = [state.size for state in states]
        self._calls = [_Call(self._graph(blocks)) for blocks in range(1, MOST_BLOCKS + 1)]

    def __call__(self, features: Features, packed: PackedState) -> tuple[NDArray[np.float32], PackedState]:
        """Return outputs [rows, blocks, size] of each row's next blocks, and states [rows, blocks, numbers] after each.

        features: Float32[rows, vectors, bins], MOST_BLOCKS of them at most; packed: Float32[rows, numbers].
        """
        outputs, after = self._calls[features.shape[1] // self.block - 1](features, packed)
        return outputs, after

    def _graph(self, blocks: int) -> Any:
        """Return the function of so many blocks, which are as many steps of the signature."""

        def stream(features: tf.Tensor, packed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            outputs, after = [], []
            for part in tf.split(features, blocks, axis=1):
                state = zip(tf.split(packed, self._sizes, axis=1), self._shapes, strict=True)
                found = self._signature(
                    features=part, **{f"state_{i}": tf.reshape(*one) for i, one in enumerate(state)}
                )
                parts = [tf.reshape(found[f"state_{i}"], (-1, size)) for i, size in enumerate(self._sizes)]
                packed = tf.concat(parts, axis=1)
                outputs.append(found[self._output])
                after.append(packed)
            return tf.concat(outputs, axis=1), tf.stack(after, axis=1)

        features = tf.TensorSpec([None, blocks * self.block, self._bins], tf.float32)
        packed = tf.TensorSpec([None, sum(self._sizes)], tf.float32)
        return graph_function(stream, input_signature=[features, packed]).get_concrete_function()


class _Call:
    """A graph's function, called without the checks of its arguments."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self._types = [tensor.dtype for tensor in function.outputs]

    def __call__(self, *arrays: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
        args = [*map(tf.constant, arrays), *self._function.captured_inputs]
        results = tf.raw_ops.StatefulPartitionedCall(args=args, Tout=self._types, f=self._function)
        return tuple(result.numpy() for result in results)

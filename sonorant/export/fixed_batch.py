"""Steps of streams in calls with a fixed number of rows, so that results are batch-invariant, bit for bit.

The kernels choose the order of a product's sums by its shape, and compute each row alike. So a call always has `BATCH`
rows, padding rows among them; streams that have more vectors than others go on in further calls.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features

__all__ = ["BATCH", "FixedBatch", "Tensors"]

BATCH = 16  # a multiple of the vectors of any processor, so that no row is computed by other code than the rest

Tensors = tuple[NDArray[Any], ...]
"""A stream's state: [1, ...] for each state of the model."""


class FixedBatch:
    """Calls of a signature `stream` for many streams.

    call: features and states by name to outputs and states by name. output: name of its outputs. no_frames: [0, size].
    start: the state of a new stream, which padding rows have.
    """

    def __init__(
        self, call: Callable[..., Mapping[str, Any]], output: str, no_frames: NDArray[np.float32], start: Tensors
    ) -> None:
        self._call = call
        self._output = output
        self._no_frames = no_frames
        self._empty = [np.repeat(tensor, BATCH, axis=0) for tensor in start]

    def steps(
        self, vectors: Sequence[Features], states: Sequence[Tensors]
    ) -> list[tuple[NDArray[np.float32], Tensors]]:
        """Return outputs [T', size] of each stream's vectors, whole blocks, and the state after them."""
        found = []
        for first in range(0, len(vectors), BATCH):
            some = slice(first, first + BATCH)
            found += self._fill(list(vectors[some]), list(states[some]))
        return found

    def _fill(self, left: list[Features], states: list[Tensors]) -> list[tuple[NDArray[np.float32], Tensors]]:
        """Return what `steps` returns for at most `BATCH` streams, in a call for each number of vectors there is."""
        outputs = [[self._no_frames] for _ in left]
        while going := [stream for stream, vectors in enumerate(left) if len(vectors)]:
            count = min(len(left[stream]) for stream in going)
            features = np.zeros((BATCH, count, left[0].shape[1]), np.float32)
            tensors = [empty.copy() for empty in self._empty]
            for row, stream in enumerate(going):
                features[row] = left[stream][:count]
                for tensor, own in zip(tensors, states[stream], strict=True):
                    tensor[row] = own[0]
            frames, after = self._called(features, tensors)
            for row, stream in enumerate(going):
                outputs[stream].append(frames[row])
                states[stream] = tuple(tensor[row : row + 1].copy() for tensor in after)
                left[stream] = left[stream][count:]
        return [(np.concatenate(frames), state) for frames, state in zip(outputs, states, strict=True)]

    def _called(
        self, features: Features, tensors: Sequence[NDArray[Any]]
    ) -> tuple[NDArray[np.float32], list[NDArray[Any]]]:
        found = self._call(features=features, **{f"state_{i}": tensor for i, tensor in enumerate(tensors)})
        return found[self._output].numpy(), [found[f"state_{i}"].numpy() for i in range(len(tensors))]

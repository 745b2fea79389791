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
        """Return outputs [T', size] of each stream's vectors, whole blocks, and the state after them.

        Each call is for the streams that have most left, so that what few of them have more shares a call.
        """
        left, tensors = list(vectors), list(states)
        outputs = [[self._no_frames] for _ in left]
        while going := [stream for stream, own in enumerate(left) if len(own)]:
            rows = sorted(going, key=lambda stream: -len(left[stream]))[:BATCH]
            count = len(left[rows[-1]])
            frames, after = self._called(
                [left[stream][:count] for stream in rows], [tensors[stream] for stream in rows]
            )
            for row, stream in enumerate(rows):
                outputs[stream].append(frames[row])
                tensors[stream] = tuple(tensor[row : row + 1].copy() for tensor in after)
                left[stream] = left[stream][count:]
        return [(np.concatenate(frames), state) for frames, state in zip(outputs, tensors, strict=True)]

    def _called(
        self, vectors: Sequence[Features], states: Sequence[Tensors]
    ) -> tuple[NDArray[np.float32], list[NDArray[Any]]]:
        features = np.zeros((BATCH, *vectors[0].shape), np.float32)
        np.stack(vectors, out=features[: len(vectors)])
        inputs = {
            f"state_{i}": np.concatenate([*(state[i] for state in states), empty[len(states) :]])
            for i, empty in enumerate(self._empty)
        }
        found = self._call(features=features, **inputs)
        return found[self._output].numpy(), [found[f"state_{i}"].numpy() for i in range(len(self._empty))]

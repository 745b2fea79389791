"""Steps of streams in calls with a fixed number of rows, so that results are batch-invariant, bit for bit.

The kernels choose the order of a product's sums by its shape, and compute each row alike. So a call always has `BATCH`
rows, padding rows among them. Its streams may have fewer vectors than the longest one, whose padding is for nothing:
each takes the states after its own last block.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.export.packed_stream import MOST_BLOCKS, PackedState, PackedStream

__all__ = ["BATCH", "FixedBatch", "blocks_of_call"]

BATCH = 16
"""Rows of a call, and of the graphs of exports: a multiple of the vectors of any processor, so that no row is computed
by other code than the rest."""


class FixedBatch:
    """Calls of a model for many streams.

    no_frames: its outputs of no vectors, Float32[0, size].
    """

    def __init__(self, model: PackedStream, no_frames: NDArray[np.float32]) -> None:
        self._model = model
        self._no_frames = no_frames

    def steps(
        self, vectors: Sequence[Features], states: Sequence[PackedState]
    ) -> list[tuple[NDArray[np.float32], PackedState]]:
        """Return outputs [T', size] of each stream's vectors, whole blocks of the model, and the state after them.

        Each call is for the streams that have most left.
        """
        left, after, block = list(vectors), list(states), self._model.block
        outputs = [[self._no_frames] for _ in left]
        while going := sorted((i for i, own in enumerate(left) if len(own)), key=lambda i: -len(left[i])):
            count = block * min(MOST_BLOCKS, blocks_of_call([len(left[i]) // block for i in going]))
            streams = going[:BATCH]
            found = self._called([left[i][:count] for i in streams], [after[i] for i in streams])
            for stream, (frames, state) in zip(streams, found, strict=True):
                outputs[stream].append(frames)
                after[stream] = state
                left[stream] = left[stream][count:]
        return [(np.concatenate(frames), state) for frames, state in zip(outputs, after, strict=True)]

    def _called(
        self, vectors: Sequence[Features], states: Sequence[PackedState]
    ) -> Iterator[tuple[NDArray[np.float32], PackedState]]:
        """Yield outputs and state after each stream's vectors, none of which has more than the first."""
        features = np.zeros((BATCH, *vectors[0].shape), np.float32)
        for row, own in zip(features, vectors, strict=False):
            row[: len(own)] = own
        outputs, after = self._model(features, np.stack([*states, *[self._model.start] * (BATCH - len(states))]))
        frames = outputs.shape[1] // after.shape[1]  # of a block
        for row, own in enumerate(vectors):
            blocks = len(own) // self._model.block
            state = after[row, blocks - 1].copy()  # a view would keep the states of the others
            yield outputs[row, : blocks * frames], state


def blocks_of_call(left: Sequence[int]) -> int:
    """Return the blocks of the next call, in which the first `BATCH` streams take part.

    left: blocks of each stream, most first. The call ends its streams, by padding, where calls that all do so have no
    more blocks together than calls of any streams must have. Else it has no padding, so that what few streams have more
    is left for calls of those.
    """
    padded = sum(left[::BATCH])
    least = max(left[0], math.ceil(sum(left) / BATCH))
    return left[0] if padded <= least else left[:BATCH][-1]

"""Steps of streams in calls with a fixed number of rows, so that results are batch-invariant, bit for bit.

The kernels choose the order of a product's sums by its shape, and compute each row alike. So a call always has `BATCH`
rows, padding rows among them; streams that have more vectors than others go on in further calls.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.export.packed_stream import PackedState, PackedStream

__all__ = ["BATCH", "FixedBatch"]

BATCH = 16  # a multiple of the vectors of any processor, so that no row is computed by other code than the rest


class FixedBatch:
    """Calls of a model for many streams.

    no_frames: its outputs of no vectors, Float32[0, size]; most: vectors of one stream in a call.
    """

    def __init__(self, model: PackedStream, no_frames: NDArray[np.float32], most: int) -> None:
        self._model = model
        self._no_frames = no_frames
        self._most = most

    def steps(
        self, vectors: Sequence[Features], states: Sequence[PackedState]
    ) -> list[tuple[NDArray[np.float32], PackedState]]:
        """Return outputs [T', size] of each stream's vectors, whole blocks, and the state after them.

        Each call is for the streams that have most left, so that what few of them have more shares a call.
        """
        left, after = list(vectors), list(states)
        outputs = [[self._no_frames] for _ in left]
        while going := [stream for stream, own in enumerate(left) if len(own)]:
            rows = sorted(going, key=lambda stream: -len(left[stream]))[:BATCH]
            count = min(self._most, len(left[rows[-1]]))
            frames, found = self._called([left[stream][:count] for stream in rows], [after[stream] for stream in rows])
            for row, stream in enumerate(rows):
                outputs[stream].append(frames[row])
                after[stream] = found[row].copy()  # a view would keep the states of the others
                left[stream] = left[stream][count:]
        return [(np.concatenate(frames), state) for frames, state in zip(outputs, after, strict=True)]

    def _called(
        self, vectors: Sequence[Features], states: Sequence[PackedState]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return outputs [BATCH, T', size] of as many vectors of each stream, and the states [BATCH, numbers] after."""
        features = np.zeros((BATCH, *vectors[0].shape), np.float32)
        np.stack(vectors, out=features[: len(vectors)])
        return self._model(features, np.stack([*states, *[self._model.start] * (BATCH - len(states))]))

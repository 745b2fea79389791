"""Steps of a stream with its states packed: two arguments and two results, whatever the model.

Each argument and result costs as much as a small layer, and so does a loop over time: so an export has a graph of one
block after another for each number of blocks (`sonorant.export.signatures`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features

__all__ = ["MOST_BLOCKS", "PackedState", "PackedStream"]

MOST_BLOCKS = 4
"""Most blocks of a call."""

PackedState: TypeAlias = NDArray[np.float32]
"""A stream's states, Float32[numbers of all]."""

_Call: TypeAlias = Callable[..., Mapping[str, NDArray[np.float32]]]


class PackedStream:
    """Calls the functions `blocks_1` to `blocks_4` of an export.

    signatures: all of its functions. output: name of what they compute of the features. block: vectors that a stream
    takes at once. states: Float32[1, ...] each, of a new stream.
    """

    def __init__(
        self, signatures: Mapping[str, _Call], output: str, block: int, states: Sequence[NDArray[Any]]
    ) -> None:
        self.start: PackedState = np.concatenate([np.ravel(state) for state in states], dtype=np.float32)
        self.block = block
        self._output = output
        counts = range(1, MOST_BLOCKS + 1)
        if "blocks_1" in signatures:
            self._calls = [signatures[f"blocks_{count}"] for count in counts]
        else:  # of an export of before, or one that kernels compute
            one = signatures.get("block", signatures["stream"])
            self._calls = [_one_by_one(one, output, block, states)] * MOST_BLOCKS

    def __call__(self, features: Features, packed: PackedState) -> tuple[NDArray[np.float32], PackedState]:
        """Return outputs [rows, frames, size] of each row's next blocks, and states [rows, blocks, numbers] after each.

        features: Float32[rows, vectors, bins], MOST_BLOCKS of them at most; packed: Float32[rows, numbers].
        """
        found = self._calls[features.shape[1] // self.block - 1](features=features, packed=packed)
        return found[self._output], found["packed"]


def _one_by_one(one: _Call, output: str, block: int, states: Sequence[NDArray[Any]]) -> _Call:
    """Return the function of any number of blocks by a function of one, to which states are not packed."""
    ends = np.cumsum([state.size for state in states])[:-1]

    def call(features: Features, packed: PackedState) -> dict[str, NDArray[np.float32]]:
        outputs, after = [], []
        for part in np.split(features, features.shape[1] // block, axis=1):
            parts = zip(np.split(packed, ends, axis=1), states, strict=True)
            state = {f"state_{i}": own.reshape(-1, *first.shape[1:]) for i, (own, first) in enumerate(parts)}
            found = one(features=part, **state)
            packed = np.concatenate([np.reshape(found[name], (len(packed), -1)) for name in state], axis=1)
            outputs.append(found[output])
            after.append(packed)
        return {output: np.concatenate(outputs, axis=1), "packed": np.stack(after, axis=1)}

    return call

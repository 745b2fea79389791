"""The decoder of a label-synchronous model, for searches, which know arrays only.

`TensorDecoder` makes what a search drives (`sonorant.decoding.label_decoder.LabelDecoder`) of a model's functions,
those of an export or in memory (`sonorant.models.decoder_functions`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.models.tensor_frames import TensorFrames

__all__ = ["TensorDecoder"]

_Named: TypeAlias = dict[str, Any]  # arrays, or tensors of TensorFlow


class _State(NamedTuple):
    """Of a batch between two labels. memory, state: arguments of `decoder_next` by name."""

    memory: _Named
    state: _Named


class TensorDecoder(TensorFrames):
    """Holds no utterance's state, so threads may share it."""

    def __init__(self, functions: Mapping[str, Callable[..., _Named]]) -> None:
        """functions: what `decoder_functions` returns, by the same names; others do not matter."""
        super().__init__(functions)
        self._begin = functions["decoder_begin"]
        self._advance = functions["decoder_next"]

    def begin(self, encoded: Sequence[NDArray[np.float32]]) -> _State:
        """Return the state before the first label of utterances [frames, size], each with one hypothesis."""
        lengths = np.array([len(frames) for frames in encoded], np.int32)
        found = self._begin(encoded=_padded(encoded), lengths=lengths)
        return _State(_starting(found, "memory"), _starting(found, "state"))

    def next(
        self, before: NDArray[np.int32], parents: NDArray[np.int32], state: _State
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], _State]:
        """See `LabelDecoder`."""
        labels = {"before": np.asarray(before, np.int32), "parents": np.asarray(parents, np.int32)}
        found = self._advance(**labels, **state.memory, **state.state)
        after = _State(state.memory, _starting(found, "state"))
        return np.asarray(found["log_probs"]), np.asarray(found["attention"]), after

    def warm(self, encoded_size: int) -> None:
        """See `TensorFrames`."""
        super().warm(encoded_size)
        one, encoded = np.zeros((1, 1), np.int32), [np.zeros((1, encoded_size), np.float32)]
        self.next(one, one, self.begin(encoded))


def _padded(encoded: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    padded = np.zeros((len(encoded), max(map(len, encoded)), encoded[0].shape[1]), np.float32)
    for i, frames in enumerate(encoded):
        padded[i, : len(frames)] = frames
    return padded


def _starting(tensors: _Named, kind: str) -> _Named:
    return {name: tensor for name, tensor in tensors.items() if name.startswith(kind)}

"""Steps of streams through a stack of LSTM layers, by kernels that take any number of rows (`kernels.cpp`).

TensorFlow packs the weights of a product anew in each call, which for the few rows of a recognizer takes longer than
the product; and as its order of sums depends on the number of rows, each call must have the same (`fixed_batch`). Here
the weights are packed once, and each row's sums have one order.
"""

from collections.abc import Mapping, Sequence
from itertools import count, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.export.denormals import flushed_denormals
from sonorant.export.kernels import Convolution2d, FrequencyConvolution, LstmStack
from sonorant.export.packed_stream import PackedState

__all__ = ["STACKS", "StackBatch"]

STACKS = ("lstm_stack", "convolution_lstm_stack", "convolution_2d_lstm_stack")
"""Signatures of an export, one of which returns the weights."""


class StackBatch:
    """Calls of a model for many streams, as `FixedBatch`.

    weights: what `sonorant.models.stack_functions` returns.
    """

    def __init__(self, weights: Mapping[str, NDArray[Any]]) -> None:
        numbers = takewhile(lambda i: f"weight_{i}" in weights, count())
        layers = [(weights[f"weight_{i}"], weights[f"bias_{i}"]) for i in numbers]
        projection = weights["projection_weight"], weights["projection_bias"]
        mean, deviation, level, running_mean = (
            weights[name] for name in ("mean", "deviation", "level", "running_mean")
        )
        self._stack = LstmStack(mean, deviation, level, running_mean, _convolution(weights), layers, projection)
        self._symbols = len(projection[1])

    def steps(
        self, vectors: Sequence[Features], states: Sequence[PackedState]
    ) -> list[tuple[NDArray[np.float32], PackedState]]:
        """Return outputs [T, symbols] of each stream's vectors [T, bins], and the state after them."""
        if not vectors:
            return []
        features = np.ascontiguousarray(np.concatenate(vectors, dtype=np.float32))
        after = np.concatenate(states).reshape(len(states), -1)
        lengths = np.array([len(own) for own in vectors], np.int32)
        log_probs = np.empty((len(features), self._symbols), np.float32)
        with flushed_denormals():
            self._stack.advance(features, lengths, after, log_probs)
        ends = np.cumsum(lengths).tolist()
        rows = zip([0, *ends], ends, after, strict=False)
        return [(log_probs[begin:end], state.copy()) for begin, end, state in rows]  # a view would keep all states


def _convolution(weights: Mapping[str, NDArray[Any]]) -> Convolution2d | None:
    """Return the convolution before the layers, if there is one."""
    if "convolution_2d" in weights:
        return _convolution_2d(weights)
    if not len(weights.get("convolution", ())):
        return None
    frames, pool = _sizes(weights, "convolution", (2,))
    projection = weights["filters_projection_weight"], weights["filters_projection_bias"]
    first, second = _filters(weights, 2)
    return FrequencyConvolution(len(weights["mean"]), frames, pool, first, second, projection)


def _convolution_2d(weights: Mapping[str, NDArray[Any]]) -> Convolution2d:
    """Return the convolution over frames and mel bins."""
    (vector_frames,), sizes = _sizes(weights, "convolution_frames", (1,)), _sizes(weights, "convolution_2d", (-1, 3))
    layers = [
        (frames, stride, pool, filters)
        for (frames, stride, pool), filters in zip(sizes, _filters(weights, len(sizes)), strict=True)
    ]
    projection = weights["filters_projection_weight"], weights["filters_projection_bias"]
    return Convolution2d(len(weights["mean"]), vector_frames, layers, projection)


def _sizes(weights: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> Any:
    """Return an array of that shape, -1 for any number, as a list; raises ValueError unless each is a size."""
    found = weights[name]
    right = found.ndim == len(shape) and all(want in (-1, n) for want, n in zip(shape, found.shape, strict=True))
    if not right or found.dtype.kind != "i" or (found < 1).any():
        shown = f"{found.dtype}{list(found.shape)} {found.tolist()!r:.80}"
        raise ValueError(f"{name}: {shown}; expected sizes of at least 1, {shape[-1]} in a row")
    return found.tolist()


def _filters(weights: Mapping[str, NDArray[Any]], layers: int) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    return [(weights[f"filters_weight_{i}"], weights[f"filters_bias_{i}"]) for i in range(layers)]

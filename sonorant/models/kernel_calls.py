"""Compiled kernels of our own in TensorFlow's graphs: on a CPU, and in this process alone.

A graph calls them through the interpreter, so an exported one cannot.
"""

import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.tensorflow import tf

__all__ = ["HasKernel", "aligned_array", "aligned_bytes", "call_kernel", "kernel_threads"]

_ALIGNED = 64  # bytes: TensorFlow takes arrays that begin at a multiple of it without a copy


class HasKernel:
    """A layer that a kernel of our own computes where `compiled` is set, which needs a CPU; else TensorFlow's do."""

    compiled: bool = False


def call_kernel(kernel: Callable[..., Any], given: list[tf.Tensor], dtypes: Sequence[tf.DType]) -> list[tf.Tensor]:
    """Return the arrays of these types that a function of arrays makes of those given, in a graph and outside.

    Raises what the function raises; in a graph InvalidArgumentError in place of ValueError.
    """
    tensors = tf.numpy_function(kernel, given, list(dtypes), stateful=False)
    return tensors if isinstance(tensors, list) else [tensors]  # outside of a graph, where it is one


def aligned_array(*shape: int) -> NDArray[np.float32]:
    """Return an array of that shape whose memory is aligned, with any content."""
    return _aligned(math.prod(shape) * np.dtype(np.float32).itemsize).view(np.float32).reshape(shape)


def aligned_bytes(*shape: int) -> NDArray[np.uint8]:
    """Return the same of bytes."""
    return _aligned(math.prod(shape)).reshape(shape)


def _aligned(size: int) -> NDArray[np.uint8]:
    memory = np.empty(size + _ALIGNED, np.uint8)
    first = -memory.ctypes.data % _ALIGNED
    return memory[first : first + size]


def kernel_threads() -> int:
    """Return how many threads an operation of TensorFlow has."""
    return tf.config.threading.get_intra_op_parallelism_threads() or len(os.sched_getaffinity(0))

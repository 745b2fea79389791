"""Compiled kernels of our own in TensorFlow's graphs: on a CPU, and in this process alone.

A graph calls them through the interpreter, so an exported one cannot.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.tensorflow import tf

__all__ = ["aligned_array", "call_kernel", "kernel_threads"]

_ALIGNED = 64  # bytes: TensorFlow takes arrays that begin at a multiple of it without a copy


def call_kernel(
    kernel: Callable[..., Any], given: list[tf.Tensor], made: int, dtype: tf.DType = tf.float32
) -> list[tf.Tensor]:
    """Return so many arrays of `dtype` that a function of arrays makes of those given, in a graph and outside.

    Raises what the function raises; in a graph InvalidArgumentError in place of ValueError.
    """
    tensors = tf.numpy_function(kernel, given, [dtype] * made, stateful=False)
    return tensors if isinstance(tensors, list) else [tensors]  # outside of a graph, where it is one


def aligned_array(*shape: int) -> NDArray[np.float32]:
    """Return an array of that shape whose memory is aligned, with any content."""
    numbers, spare = int(np.prod(shape)), _ALIGNED // np.dtype(np.float32).itemsize
    memory = np.empty(numbers + spare, np.float32)
    first = -memory.ctypes.data % _ALIGNED // memory.itemsize
    return memory[first : first + numbers].reshape(shape)


def kernel_threads() -> int:
    """Return how many threads an operation of TensorFlow has."""
    return tf.config.threading.get_intra_op_parallelism_threads() or len(os.sched_getaffinity(0))

"""What the hardware allows: the time that FFTs and memory alone would take, at the rates that this machine reaches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import log2
from typing import Any
from unittest.mock import patch

import numpy as np
from ducc0 import fft

from benchmarks.timing import quickest_s

__all__ = ["fft_flops", "fft_flops_per_s", "memory_bytes_per_s"]

_ROWS, _SIZES = 32, (512, 800, 1024, 2048)  # batches that stay in the cache
_COPIED = 1 << 24  # float32 in an array that no cache holds


@dataclass
class _Count:
    flops: float = 0.0
    _inner: dict[str, Callable[..., Any]] = field(default_factory=lambda: {"r2c": fft.r2c, "c2r": fft.c2r})

    def r2c(self, array: np.ndarray[Any, Any], **options: Any) -> Any:
        return self._counted("r2c", array, array.shape, **options)

    def c2r(self, array: np.ndarray[Any, Any], **options: Any) -> Any:
        return self._counted("c2r", array, (*array.shape[:-1], options["lastsize"]), **options)

    def _counted(self, name: str, array: np.ndarray[Any, Any], shape: tuple[int, ...], **options: Any) -> Any:
        self.flops += _flops(shape)
        return self._inner[name](array, **options)


def fft_flops(work: Callable[[], object]) -> float:
    """Return the floating-point operations of all FFTs that `work` does, at 2.5 N log2 N for N real values."""
    with _counting() as count:
        work()
    return count.flops


def fft_flops_per_s() -> float:
    """Return the best rate of real FFTs on one core."""
    arrays = {size: np.ones((_ROWS, size), np.float32) for size in _SIZES}
    spectra = {size: np.empty((_ROWS, size // 2 + 1), np.complex64) for size in _SIZES}

    def transform(size: int) -> Callable[[], object]:
        return lambda: [fft.r2c(arrays[size], axes=(1,), out=spectra[size]) for _ in range(50)]

    took = quickest_s({str(size): transform(size) for size in _SIZES}, 30)
    return max(50 * _flops((_ROWS, size)) / took[str(size)] for size in _SIZES)


def memory_bytes_per_s() -> float:
    """Return how many bytes one core reads and writes in a second when it copies a large array."""
    there, here = np.zeros(_COPIED, np.float32), np.zeros(_COPIED, np.float32)
    return 2 * here.nbytes / quickest_s({"copy": lambda: np.copyto(here, there)})["copy"]


@contextmanager
def _counting() -> Iterator[_Count]:
    count = _Count()
    with patch.object(fft, "r2c", count.r2c), patch.object(fft, "c2r", count.c2r):
        yield count


def _flops(shape: tuple[int, ...]) -> float:
    """Of real transforms along the last axis."""
    return 2.5 * float(np.prod(shape)) * log2(shape[-1])

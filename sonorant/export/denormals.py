"""Numbers too small for a float's precision as zeros, as TensorFlow's own threads have them, in the calling thread.

Processors are slow with them, and results have other last bits. The C library's `<fenv.h>` has the processor's
register of rounding in a structure whose layout is fixed for each architecture; elsewhere denormals stay.
"""

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["flushed_denormals"]

_SIZE = 64  # bytes, more than any `fenv_t`
# Offset of the register, and its bits: x86's MXCSR, flush to zero and denormals are zero; Arm's FPCR, flush to zero.
_REGISTERS = {"x86_64": (28, 0x8040), "aarch64": (0, 1 << 24)}
_REGISTER = _REGISTERS.get(platform.machine()) if platform.system() == "Linux" else None
_libm = ctypes.CDLL("libm.so.6") if _REGISTER else None


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Have denormals taken for zeros, and made zeros, by this thread while the context lasts."""
    if _libm is None or _REGISTER is None:
        yield
        return
    before, within = ctypes.create_string_buffer(_SIZE), ctypes.create_string_buffer(_SIZE)
    _libm.fegetenv(before)
    ctypes.memmove(within, before, _SIZE)
    offset, bits = _REGISTER
    register = ctypes.c_uint32.from_buffer(within, offset)
    register.value |= bits
    _libm.fesetenv(within)
    try:
        yield
    finally:
        _libm.fesetenv(before)

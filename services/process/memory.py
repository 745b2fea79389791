"""Reuse of freed memory."""

import ctypes
import sys

__all__ = ["keep_freed_memory"]

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h
_KEPT_BYTES = 1 << 28  # far above what one utterance needs


def keep_freed_memory() -> None:
    """Make the C library keep freed memory instead of returning it to the kernel at once.

    A stage needs the same few megabytes of temporaries for each utterance. glibc maps arrays of that size and unmaps
    them when they are freed, so that every page faults and is zeroed anew: mixing takes three times as long. Other
    C libraries are left alone.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            libc.mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
            libc.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)

"""FFT sizes that repeat, so that twiddle factors and filters are reused from utterance to utterance."""

__all__ = ["coarse_length"]


def coarse_length(least: int) -> int:
    """Return the smallest of 4, 5, 6, 7 times a power of two that is at least `least` (1 or more).

    Random lengths would need a new FFT plan each time, which costs more than the transform; these few are at most a
    quarter longer than needed.
    """
    shift = max(0, (least - 1).bit_length() - 3)
    return next(factor << shift for factor in (1, 2, 3, 4, 5, 6, 7, 8) if factor << shift >= least)

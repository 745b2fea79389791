"""Spectral peaks on the move: each takes the bins around it to its warped frequency (reasons in `vtlp`)."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.audio import kernels

__all__ = ["PeakMover", "Spectra", "warp_frequency"]

Spectra: TypeAlias = NDArray[np.complex64]  # [frames, bins]
Values: TypeAlias = NDArray[np.float64]


def warp_frequency(omega: Values, alpha: float) -> Values:
    """Return ω′, in radians per sample, of ω in [0, π]: the bilinear map (Samsung, Eq. 1).

    ω′ = ω + 2·atan((1 − α)·sin ω / (1 − (1 − α)·cos ω)). It keeps 0 and π; α below 1 raises what lies between,
    α above 1 lowers it, and 2 − α undoes α. Needs 0 < α < 2.
    """
    return omega + 2 * np.arctan((1 - alpha) * np.sin(omega) / (1 - (1 - alpha) * np.cos(omega)))


def _slope(omega: Values, alpha: float) -> Values:
    """Return dω′/dω: the bilinear map's is that of an all-pass filter of the first order."""
    warp = 1 - alpha
    slope: Values = (1 - warp**2) / (1 + warp**2 - 2 * warp * np.cos(omega))
    return slope


class PeakMover:
    """Moves the peaks of successive frames, `hop` samples apart, so that tones stay in phase from frame to frame.

    The frames are `window` samples long, under a Hann window, and not zero-padded.
    """

    def __init__(self, alpha: float, hop: int, window: int) -> None:
        bins = window // 2 + 1
        omega = 2 * np.pi / window * np.arange(bins)
        rise = (warp_frequency(omega, alpha) - omega) * window / (2 * np.pi)  # ω′ − ω, in bins
        self._rise = rise.astype(np.float32)
        self._rise_slope = (_slope(omega, alpha) - 1).astype(np.float32)
        self._rotations_per_bin = hop / window  # from frame to frame
        self._rotations = np.zeros(bins, np.float32)  # of the last frame's bins; 1 is the whole circle

    def move(self, spectra: Spectra, moved: Spectra) -> None:
        """Fill Complex64[frames, bins] from the next frames' spectra, Complex64[frames, bins]."""
        kernels.move_peaks(spectra, self._rise, self._rise_slope, self._rotations_per_bin, self._rotations, moved)

"""Spectral peaks on the move: each takes the bins around it to its warped frequency (`vtlp` says why)."""

from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["PeakMover", "warp_frequency"]

Spectra: TypeAlias = NDArray[np.complex64]  # [frames, bins]
Indices: TypeAlias = NDArray[np.intp]
Values: TypeAlias = NDArray[np.float64]

_REACH = 3  # bins on either side that a peak tops: sidelobes of a Hann window, zero-padded twofold, are none
_TINY = np.float32(1e-30)  # keeps the logarithm of silence finite


class _Peaks(NamedTuple):
    """All peaks of some frames, frame after frame; every array is [peaks]."""

    frame: Indices
    bin: Indices
    offset: Values  # from the bin's centre to the tone's frequency, in bins, within -0.5..0.5


def warp_frequency(omega: Values, alpha: float) -> Values:
    """Return ω′, in radians per sample, of ω in [0, π]: the bilinear map (Samsung, Eq. 1).

    ω′ = ω + 2·atan((1 − α)·sin ω / (1 − (1 − α)·cos ω)). It keeps 0 and π; α below 1 raises what lies between,
    α above 1 lowers it, and 2 − α undoes α. Needs 0 < α < 2.
    """
    return omega + 2 * np.arctan((1 - alpha) * np.sin(omega) / (1 - (1 - alpha) * np.cos(omega)))


class PeakMover:
    """Moves the peaks of successive frames, `hop` samples apart, so that tones stay in phase from frame to frame."""

    def __init__(self, alpha: float, hop: int, window: int, fft_size: int) -> None:
        self._bins = fft_size // 2 + 1
        omega = 2 * np.pi / fft_size * np.arange(self._bins)
        self._rise = (warp_frequency(omega, alpha) - omega) * fft_size / (2 * np.pi)  # ω′ − ω, in bins
        self._rise_slope = np.gradient(self._rise)
        self._turns_per_bin = hop / fft_size  # of rotation, from frame to frame
        self._centre_turns = window / 2 / fft_size  # a move by one bin turns the window's centre by so much
        self._turns = np.zeros(self._bins)  # by which the last frame's bins were rotated

    def move(self, spectra: Spectra) -> Spectra:
        """Return Complex64[frames, bins] of the next frames' spectra, Complex64[frames, bins]."""
        frames = len(spectra)
        peaks = _find_peaks(spectra.real**2 + spectra.imag**2)
        rise = self._rise[peaks.bin] + peaks.offset * self._rise_slope[peaks.bin]
        steps = np.rint(rise).astype(np.intp)
        start, end = self._territories(peaks, peaks.bin, frames)
        turns = self._follow(peaks, rise * self._turns_per_bin, end - start, frames)
        phase = 2 * np.pi * (turns - steps * self._centre_turns)
        rotation = np.empty(len(phase), np.complex64)
        rotation.real, rotation.imag = np.cos(phase), np.sin(phase)

        to_start, to_end = self._territories(peaks, peaks.bin + steps, frames)
        first = np.clip(start + steps, to_start, to_end)
        last = np.clip(end + steps, first, to_end)
        nothing = np.zeros_like(rotation)
        runs = np.stack([first - to_start, last - first, to_end - last], axis=1)
        factors = np.repeat(np.stack([nothing, rotation, nothing], axis=1), runs.reshape(-1))
        sources = np.arange(spectra.size) - np.repeat(steps, to_end - to_start)
        moved: Spectra = spectra.take(sources, mode="clip") * factors
        return moved.reshape(spectra.shape)

    def _territories(self, peaks: _Peaks, centres: Indices, frames: int) -> tuple[Indices, Indices]:
        """Return start and end, counted through all frames' bins, of the bins nearest to each centre in its frame."""
        start = peaks.frame * self._bins
        same_frame = np.flatnonzero(peaks.frame[1:] == peaks.frame[:-1]) + 1
        start[same_frame] += (centres[same_frame] + centres[same_frame - 1] + 1) // 2
        return start, np.append(start[1:], frames * self._bins)

    def _follow(self, peaks: _Peaks, advance: Values, sizes: Indices, frames: int) -> Values:
        """Return each peak's rotation, in turns: its advance upon that of the peak that held its bin a frame before."""
        turns = advance.copy()
        firsts = np.searchsorted(peaks.frame, np.arange(frames + 1))
        owner = np.repeat(np.arange(len(turns)), sizes)
        before = np.maximum(peaks.frame - 1, 0) * self._bins + peaks.bin
        parent = owner[before]
        turns[: firsts[1]] += self._turns[peaks.bin[: firsts[1]]]
        for first, end in pairwise(firsts[1:]):
            turns[first:end] += turns[parent[first:end]]
        turns -= np.rint(turns)
        self._turns = np.repeat(turns[firsts[-2] :], sizes[firsts[-2] :])
        return turns


def _find_peaks(power: NDArray[np.float32]) -> _Peaks:
    """Return the bins that top `_REACH` neighbours on either side; every frame has one, were it only silence."""
    frames, bins = power.shape
    fenced = np.full((frames, bins + 2 * _REACH), -1, np.float32)
    fenced[:, _REACH:-_REACH] = power
    left, right = fenced[:, :bins].copy(), fenced[:, -bins:].copy()
    for step in range(1, _REACH):
        np.maximum(left, fenced[:, step : step + bins], out=left)
        np.maximum(right, fenced[:, -bins - step : -step], out=right)
    flat = np.flatnonzero((power > left) & (power >= right))
    frame, at = np.divmod(flat, bins)
    return _Peaks(frame, at, _offsets(fenced, frame * fenced.shape[1] + at + _REACH))


def _offsets(fenced: NDArray[np.float32], tops: Indices) -> Values:
    """Return where, within -0.5..0.5 bins, the parabola through three logarithms has its top."""
    before, middle, after = (np.log(np.maximum(fenced.take(tops + side), _TINY)) for side in (-1, 0, 1))
    bend = np.minimum(before - 2 * middle + after, -_TINY)
    offsets: Values = np.clip((before - after) / (2 * bend), -0.5, 0.5).astype(np.float64)
    return offsets

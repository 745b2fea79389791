"""Mel filters: triangles of height 1, evenly spaced on HTK's mel scale and straight-sided in hertz."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.errors import BadRecipe
from sonorant.features.section import FeaturesRecipe

__all__ = ["dct_matrix", "mel_filters", "recipe_filters"]

_Band: TypeAlias = tuple[int, int, float, float]  # sample_rate_hz, bins, low_hz, high_hz

_FINEST = 16  # a filter that sees no bin of an FFT so many times longer than the window is a mistake


def recipe_filters(recipe: FeaturesRecipe, sample_rate_hz: int) -> tuple[int, NDArray[np.float64]]:
    """Return the FFT size of a recipe's mel features, and its filters, Float64[bins, fft_size / 2 + 1].

    Raises BadRecipe if the filters are too narrow for the window.
    """
    high_hz = recipe.high_hz if recipe.high_hz is not None else sample_rate_hz / 2
    band = (sample_rate_hz, recipe.mel_bins, recipe.low_hz, high_hz)
    fft_size = _resolving_size(recipe.transform_size(sample_rate_hz), recipe.window_samples(sample_rate_hz), band)
    return fft_size, mel_filters(fft_size, *band)


def mel_filters(fft_size: int, sample_rate_hz: int, bins: int, low_hz: float, high_hz: float) -> NDArray[np.float64]:
    """Return Float64[bins, fft_size / 2 + 1], the weight of each FFT bin's power in each filter.

    Filter i rises from edge i to edge i + 1 and falls to edge i + 2; the bins + 2 edges run from low_hz to high_hz.
    """
    edges_hz = _hz(np.linspace(_mel(low_hz), _mel(high_hz), bins + 2))
    bins_hz = np.arange(fft_size // 2 + 1) * sample_rate_hz / fft_size
    slopes = (bins_hz - edges_hz[:, np.newaxis]) / np.diff(edges_hz, append=np.inf)[:, np.newaxis]
    rising, falling = slopes[:-2], 1 - slopes[1:-1]
    filters: NDArray[np.float64] = np.clip(np.minimum(rising, falling), 0, None)
    return filters


def dct_matrix(coefficients: int, bins: int) -> NDArray[np.float64]:
    """Return Float64[coefficients, bins], the first rows of the orthonormal DCT-II."""
    rows: NDArray[np.float64] = np.cos(
        np.pi / bins * (np.arange(bins) + 0.5) * np.arange(coefficients)[:, np.newaxis]
    ) * np.sqrt(2 / bins)
    rows[0] /= np.sqrt(2)
    return rows


def _resolving_size(shortest: int, window: int, band: _Band) -> int:
    """Return the FFT size: `shortest`, or the least multiple of it by a power of 2 in which each filter sees a bin.

    shortest: that holds `window` samples. Raises BadRecipe if even much zero-padding leaves a filter empty.
    """
    size = shortest
    while (empty := np.flatnonzero(mel_filters(size, *band).max(axis=1) == 0)).size:
        size *= 2
        if size > _FINEST * shortest:
            _, bins, low_hz, high_hz = band
            raise BadRecipe(
                f"mel_bins={bins} in {low_hz}..{high_hz} Hz: filter {empty[0]} is too narrow for a window "
                f"of {window} samples; take fewer mel_bins or a longer window_ms"
            )
    return size


def _mel(hz: float) -> float:
    return float(2595 * np.log10(1 + hz / 700))


def _hz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    return 700 * (10 ** (mel / 2595) - 1)

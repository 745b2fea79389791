"""Features: the one front end of training and recognition, whole recordings and streams alike (Samsung, 2.3).

Frame i covers samples [i·hop, i·hop + window), vector j the frames [j·stride, j·stride + stack). Nothing is padded:
a vector waits for no sample beyond its own, and what fills no vector at the end, less than `stride` frames, is dropped.
Offline is a stream that gets everything in one push.

A vector has the same bits however its samples arrive, since no value depends on how many frames are computed at once:
FFTs come in full SIMD groups, and filters sum in one fixed order; BLAS would choose the order by shape.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from ducc0 import fft
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from sonorant.arrays import Features, Waveform
from sonorant.audio import kernels
from sonorant.audio.windows import hann
from sonorant.features.mel import dct_matrix, recipe_filters
from sonorant.features.section import FeaturesRecipe

__all__ = ["FeatureExtractor", "FeatureStream"]

_BLOCK = 128  # frames computed at once; their spectra fit the L2 cache
_SIMD_WIDTH = 16  # float32 in the widest register: the FFT takes so many frames side by side
_WEIGHTS = 8  # of a filter, in a group
_LOG_FLOOR = np.float32(1e-10)  # keeps the logarithm of digital silence finite


class FeatureExtractor:
    """Computes features as a recipe describes them.

    With P the power spectrum of the frame under a Hann window (a sum over samples, not normalised), and the mel
    energies E = filters·P, the kinds are: power_mel E^power (Samsung, 2.3: 1/15, and no peak normalisation);
    log_mel ln max(E, 1e-10); mfcc the orthonormal DCT-II of log_mel; spectrogram ln max(P, 1e-10).
    Raises BadRecipe if the mel filters are too narrow for the window.
    """

    def __init__(self, recipe: FeaturesRecipe, sample_rate_hz: int) -> None:
        self.recipe = recipe
        self.sample_rate_hz = sample_rate_hz
        self._window = recipe.window_samples(sample_rate_hz)
        self.hop = max(1, round(recipe.hop_ms * sample_rate_hz / 1000))
        self._hann = hann(self._window)
        self._fft_size = recipe.transform_size(sample_rate_hz)
        self.frame_bins = recipe.frame_bins(sample_rate_hz)
        if recipe.kind != "spectrogram":
            self._fft_size, filters = recipe_filters(recipe, sample_rate_hz)
            self._filters = _triangles(filters)
            self._dct = dct_matrix(recipe.cepstra, recipe.mel_bins).astype(np.float32)

    @property
    def bins(self) -> int:
        """Size of one stacked vector."""
        return self.frame_bins * self.recipe.stack

    @property
    def vector_seconds(self) -> float:
        """Time from one stacked vector to the next."""
        return self.recipe.stride * self.hop / self.sample_rate_hz

    def span(self, vector: int) -> tuple[float, float]:
        """Return start and end, in seconds, of the samples that a stacked vector is computed from."""
        start = vector * self.recipe.stride * self.hop
        return start / self.sample_rate_hz, (start + self._vector_samples) / self.sample_rate_hz

    def vectors(self, samples: int) -> int:
        """Return how many vectors a waveform of so many samples has."""
        return max(0, 1 + (samples - self._vector_samples) // (self.recipe.stride * self.hop))

    def __call__(self, waveform: Waveform) -> Features:
        """Return Float32[vectors, bins] of a whole waveform: Float32[samples]; no vectors if it is too short."""
        stream = self.stream()
        return np.concatenate([stream.push(waveform), stream.flush()])

    def stream(self) -> "FeatureStream":
        """Return a new stream."""
        return FeatureStream(self)

    def frames(self, samples: Waveform) -> Features:
        """Return Float32[frames, frame_bins], before stacking, of all frames that lie wholly in the samples."""
        (found,) = self._frames_of([samples])
        return found

    def steps(self, due: Sequence[tuple[Waveform, "FeatureStream"]]) -> list[tuple[Features, "FeatureStream"]]:
        """Push Float32[samples] to each stream; return what each `push` would, and the stream, at less cost for all."""
        lines = [stream.joined(samples) for samples, stream in due]
        found = self._frames_of(lines)
        return [(stream.stacked(line, own), stream) for (_, stream), line, own in zip(due, lines, found, strict=True)]

    def _frames_of(self, lines: Sequence[Waveform]) -> list[Features]:
        """Return `frames` of each of several waveforms; short ones share the blocks that are computed at once."""
        counts = [max(0, 1 + (len(line) - self._window) // self.hop) for line in lines]
        features = np.empty((sum(counts), self.frame_bins), np.float32)
        windowed = np.zeros((_full_groups(min(len(features), _BLOCK)), self._fft_size), np.float32)
        spectra = np.empty((len(windowed), self._fft_size // 2 + 1), np.complex64)
        begin = end = 0  # of the block, among all features
        for line, count in zip(lines, counts, strict=True):
            samples, last = np.ascontiguousarray(line, np.float32), end + count
            while end < last:
                cut = min(last, begin + _BLOCK) - end
                kernels.cut_frames(samples, self.hop, self._hann, windowed[end - begin : end - begin + cut])
                samples, end = samples[cut * self.hop :], end + cut
                if end - begin == _BLOCK or end == len(features):
                    groups = slice(0, _full_groups(end - begin))
                    fft.r2c(windowed[groups], axes=(1,), out=spectra[groups])
                    self._fill(features[begin:end], spectra)
                    begin = end
        ends = list(accumulate(counts))
        return [features[last - count : last] for last, count in zip(ends, counts, strict=True)]

    @property
    def _vector_samples(self) -> int:
        return self._window + (self.recipe.stack - 1) * self.hop

    def _fill(self, features: Features, spectra: NDArray[np.complex64]) -> None:
        """Fill Float32[frames, frame_bins] from the first spectra, Complex64[at least frames, fft_size / 2 + 1]."""
        kind = self.recipe.kind
        if kind == "spectrogram":
            power = spectra[: len(features)].real ** 2 + spectra[: len(features)].imag ** 2
            np.log(np.maximum(power, _LOG_FLOOR), out=features)
            return
        energies = np.empty((len(features), self.recipe.mel_bins), np.float32) if kind == "mfcc" else features
        kernels.filter_power(spectra, *self._filters, energies)
        if kind == "power_mel":
            kernels.power_law(energies, self.recipe.power)
            return
        np.log(np.maximum(energies, _LOG_FLOOR, out=energies), out=energies)
        if kind == "mfcc":
            np.sum(energies[:, None] * self._dct, axis=2, out=features)


class FeatureStream:
    """Features of samples that arrive bit by bit: all pushes and the flush, joined, equal the offline result."""

    def __init__(self, extractor: FeatureExtractor) -> None:
        self._extractor = extractor
        self._samples = np.empty(0, np.float32)
        self._frames = np.empty((0, extractor.frame_bins), np.float32)

    def push(self, samples: Waveform) -> Features:
        """Return Float32[vectors, bins], the vectors that Float32[samples] complete; both may be empty."""
        ((vectors, _),) = self._extractor.steps([(samples, self)])
        return vectors

    def joined(self, samples: Waveform) -> Waveform:
        """Return the samples, behind those that wait for more: the first part of a push."""
        if samples.ndim != 1:
            raise ValueError(f"samples have shape {samples.shape}; expected [samples]: push one microphone")
        return np.concatenate([self._samples, samples], dtype=np.float32)

    def stacked(self, line: Waveform, frames: Features) -> Features:
        """Return the vectors that the frames of `joined` samples complete, and keep the rest: the last part."""
        recipe = self._extractor.recipe
        self._samples = line[len(frames) * self._extractor.hop :].copy()
        self._frames = np.concatenate([self._frames, frames])
        if len(self._frames) < recipe.stack:
            return np.empty((0, self._extractor.bins), np.float32)
        vectors = _stacked(self._frames, recipe.stack, recipe.stride)
        self._frames = self._frames[len(vectors) * recipe.stride :].copy()
        return vectors

    def flush(self) -> Features:
        """End the stream and return what is left: no vectors, as nothing is padded. The next push begins another."""
        self._samples, self._frames = self._samples[:0], self._frames[:0]
        return np.empty((0, self._extractor.bins), np.float32)


def _stacked(frames: NDArray[np.float32], stack: int, stride: int) -> Features:
    """Return each `stride`-th window of `stack` frames as one vector, frame after frame."""
    count = 1 + (len(frames) - stack) // stride
    if stack == stride:
        return frames[: count * stack].reshape(count, -1).copy()
    step, inside = frames.strides
    windows = as_strided(frames, (count, stack, frames.shape[1]), (stride * step, step, inside))
    return windows.reshape(count, -1)


def _full_groups(frames: int) -> int:
    """Return the number of frames in the fewest full SIMD groups that hold so many."""
    return -(-frames // _SIMD_WIDTH) * _SIMD_WIDTH


def _triangles(filters: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """Return first bin, offset of the weights, and weights of each filter, as `kernels.filter_power` takes them."""
    held = [np.flatnonzero(row) for row in filters]
    groups = [-(-(bins[-1] + 1 - bins[0]) // _WEIGHTS) for bins in held]
    weights = np.zeros((sum(groups), _WEIGHTS), np.float32)
    offsets = np.cumsum([0, *groups]).astype(np.int32)
    for row, bins, offset in zip(filters, held, offsets, strict=False):
        weights[offset:].reshape(-1)[: bins[-1] + 1 - bins[0]] = row[bins[0] : bins[-1] + 1]
    return np.array([bins[0] for bins in held], np.int32), offsets, weights

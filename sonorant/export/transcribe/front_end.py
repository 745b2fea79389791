"""The front end in TensorFlow's operations: what `sonorant.features.front_end` computes, but for rounding."""

import numpy as np

from sonorant.audio.windows import hann
from sonorant.features.front_end import FeatureExtractor
from sonorant.features.mel import dct_matrix, recipe_filters
from sonorant.tensorflow import tf

__all__ = ["TensorFrontEnd"]

_BLOCK = 256  # frames computed at once, of all recordings: always so many, so that no frame's bits depend on the others
_LOG_FLOOR = 1e-10
_LEAST_NORMAL = float(np.finfo(np.float32).tiny)  # what is below it has the power 0


class TensorFrontEnd:
    """Features of padded recordings, by the recipe and sample rate of an extractor."""

    def __init__(self, extractor: FeatureExtractor) -> None:
        recipe, rate_hz = extractor.recipe, extractor.sample_rate_hz
        self._recipe = recipe
        self._extractor = extractor
        self._window = recipe.window_samples(rate_hz)
        self._fft_size = recipe.transform_size(rate_hz)
        if recipe.kind != "spectrogram":
            self._fft_size, filters = recipe_filters(recipe, rate_hz)
            self._filters = filters.T.astype(np.float32)

    def __call__(self, audio: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return Float32[recordings, most vectors, bins], and how many vectors each recording has, Int32[recordings].

        audio: Float32[recordings, samples], of which `lengths` Int32[recordings] count; vectors beyond have no meaning.
        """
        recipe, hop = self._recipe, self._extractor.hop
        needed = self._window + (recipe.stack - 1) * hop
        counts = tf.maximum(0, 1 + (lengths - needed) // (recipe.stride * hop))
        vectors = tf.reduce_max(counts)
        frames = tf.where(vectors > 0, (vectors - 1) * recipe.stride + recipe.stack, 0)
        found = self._frames(audio, frames)
        stacks = tf.range(vectors)[:, None] * recipe.stride + tf.range(recipe.stack)
        stacked = tf.gather(found, stacks, axis=1)
        return tf.reshape(stacked, [tf.shape(audio)[0], vectors, self._extractor.bins]), counts

    def _frames(self, audio: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
        """Return Float32[recordings, frames, frame_bins]."""
        frame_bins = self._extractor.frame_bins
        samples, frames = tf.cast(tf.shape(audio)[1], tf.int64), tf.cast(frames, tf.int64)
        joined = tf.reshape(audio, [-1])
        total = tf.shape(audio, tf.int64)[0] * frames
        blocks = (total + _BLOCK - 1) // _BLOCK

        def advance(block: tf.Tensor, written: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            numbers = tf.minimum(block * _BLOCK + tf.range(_BLOCK, dtype=tf.int64), total - 1)
            first = numbers // frames * samples + numbers % frames * self._extractor.hop
            cut = tf.gather(joined, first[:, None] + tf.range(self._window, dtype=tf.int64))
            return block + 1, written.write(tf.cast(block, tf.int32), self._features(cut))

        written = tf.TensorArray(tf.float32, tf.cast(blocks, tf.int32), element_shape=[_BLOCK, frame_bins])
        _, written = tf.while_loop(lambda block, _: block < blocks, advance, (tf.zeros([], tf.int64), written))
        found = tf.reshape(written.stack(), [-1, frame_bins])[:total]
        return tf.reshape(found, [tf.shape(audio)[0], tf.cast(frames, tf.int32), frame_bins])

    def _features(self, cut: tf.Tensor) -> tf.Tensor:
        """Return Float32[frames, frame_bins] of Float32[frames, window], before the window is applied."""
        recipe = self._recipe
        spectra = tf.signal.rfft(cut * hann(self._window), [self._fft_size])
        power = tf.square(tf.math.real(spectra)) + tf.square(tf.math.imag(spectra))
        if recipe.kind == "spectrogram":
            return tf.math.log(tf.maximum(power, _LOG_FLOOR))
        energies = tf.matmul(power, self._filters)
        if recipe.kind == "power_mel":
            return tf.where(energies >= _LEAST_NORMAL, tf.pow(energies, recipe.power), 0.0)
        logarithms = tf.math.log(tf.maximum(energies, _LOG_FLOOR))
        if recipe.kind == "log_mel":
            return logarithms
        return tf.matmul(logarithms, dct_matrix(recipe.cepstra, recipe.mel_bins).T.astype(np.float32))

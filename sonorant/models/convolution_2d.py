"""Convolution over time and frequency before LSTM layers, within each stacked vector.

Small filters, layer upon layer, see more of a word than those of one layer that are as long as a vector, and share
their weights over time as well as over bins (Sercu 2016, "Very deep multilingual convolutional neural networks for
LVCSR"; before recurrent layers Amodei 2016, Deep Speech 2, "Frequency convolutions"). A layer is

    x [frames, bins, channels] -> convolution without padding -> max-pooling over bins -> rectifier
      -> batch normalisation

and behind the last is a linear projection to `size` values. In recognition a vector's output depends on that vector
alone, so streams carry no state for it; in training also on the moments of the batch, or chunk, of a rank. What
overlapping vectors share is computed for each.
"""

import math
from itertools import pairwise, zip_longest
from typing import TypeAlias

from sonorant.models.batch_normalisation import BatchNormalisation
from sonorant.models.convolution_2d_section import Convolution2dRecipe
from sonorant.models.half_precision import Dense, product
from sonorant.models.pooled_filters import PooledFilters, Windows
from sonorant.models.vector_convolution import VectorConvolution
from sonorant.tensorflow import keras, tf

__all__ = ["Convolution2d"]

_Affine: TypeAlias = tuple[tf.Tensor, tf.Tensor]  # factor and offset [channels]

_NAME = "conv2d"  # not that of a convolution over frequency, as `init_from` goes by names
_SEEDS = 20_000  # of first weights: beyond those of the layers behind, which would begin with the same numbers


class Convolution2d(VectorConvolution):
    """Maps stacked vectors to vectors of `size` values.

    bins: size of a stacked vector, `recipe.frames` times that of a frame; seed: of the first weights.
    """

    def __init__(self, bins: int, recipe: Convolution2dRecipe, seed: int) -> None:
        super().__init__(_NAME, {f"{_NAME}_projection": 1})
        assert bins % recipe.frames == 0
        self.recipe, self.size = recipe, recipe.size
        feature_maps = recipe.feature_maps(bins // recipe.frames)
        first_seed = _SEEDS + (len(recipe.layers) + 1) * seed
        channels = 1
        self.convolutions: list[PooledFilters] = []
        for i, (layer, (_, after)) in enumerate(zip(recipe.layers, pairwise(feature_maps), strict=True)):
            name = f"{_NAME}_{i}"
            windows = Windows(
                frames=layer.width_frames,
                bins=layer.width_bins,
                stride_frames=layer.stride_frames,
                pool=layer.pool_bins,
                maxima=after.bins,
            )
            self.convolutions.append(PooledFilters(windows, channels, layer.filters, first_seed + i, name))
            self._positions[name] = after.frames * after.bins * layer.pool_bins
            channels = layer.filters
        self.batch_normalisation = [
            BatchNormalisation(layer.filters, f"{_NAME}_{i}_normal")
            for i, layer in enumerate(recipe.layers if recipe.batch_normalisation else ())
        ]
        glorot = keras.initializers.GlorotUniform(first_seed + len(recipe.layers))
        self.projection = Dense(recipe.size, kernel_initializer=glorot, name=f"{_NAME}_projection")
        self.projection.build((None, feature_maps[-1].bins * feature_maps[-1].frames * channels))
        self.built = True

    def call(self, vectors: tf.Tensor, lengths: tf.Tensor | None = None) -> tf.Tensor:
        """See `VectorConvolution`; vectors that `lengths` do not count become 0."""
        shape = tf.shape(vectors)
        if lengths is None:
            rows = self._convolved(tf.reshape(vectors, (-1, vectors.shape[2])), training=False)
            return tf.reshape(rows, (shape[0], shape[1], self.size))
        present = tf.where(tf.sequence_mask(lengths, shape[1]))
        rows = self._convolved(tf.gather_nd(vectors, present), training=True)
        return tf.scatter_nd(present, rows, tf.cast((shape[0], shape[1], self.size), tf.int64))

    def folded(self) -> list[tuple[tf.Tensor, tf.Tensor]]:
        """Return kernel and bias of each convolution, and of the projection, with the normalisation before them.

        Recognition normalises by moving moments, which is an affine map of each channel; and as nothing is padded, the
        weights of the next layer can do it.
        """
        layers = [*self.convolutions, self.projection]
        affine = [None, *(layer.affine() for layer in self.batch_normalisation)] if self.batch_normalisation else []
        return [_folded_into(before, layer) for before, layer in zip_longest(affine, layers)]

    def _convolved(self, vectors: tf.Tensor, training: bool) -> tf.Tensor:
        """Return Float32[N, size] of vectors [N, bins]."""
        frames = self.recipe.frames
        spectra = tf.reshape(vectors, (-1, frames, vectors.shape[1] // frames, 1))
        maps = tf.transpose(spectra, (1, 2, 0, 3))
        affine: _Affine | None = None
        for convolution, normal in zip_longest(self.convolutions, self.batch_normalisation):
            weights = _folded_into(affine, convolution)
            if normal and training:
                maps, total, squares = convolution.by_with_moments(maps, *weights, normal.centre)
                count = tf.cast(tf.size(maps, tf.int64) // maps.shape[3], tf.float32)
                affine = normal.affine_of(total, squares, count)
            else:
                maps = convolution.by(maps, *weights)
                affine = normal and normal.affine()
            if affine and convolution.compute_dtype != "float32":  # which would round values that have a mean
                maps, affine = maps * affine[0] + affine[1], None
        kernel, bias = _folded_into(affine, self.projection)
        left = tf.transpose(maps, (2, 1, 0, 3))
        flat = tf.reshape(left, (-1, math.prod(left.shape[1:])))
        return product(flat, kernel, self.projection.compute_dtype) + bias


def _folded_into(affine: _Affine | None, layer: PooledFilters | Dense) -> tuple[tf.Tensor, tf.Tensor]:
    """Return kernel and bias of a layer that also do the affine map of each channel before it."""
    kernel, bias = tf.convert_to_tensor(layer.kernel.value), tf.convert_to_tensor(layer.bias.value)
    if affine is None:
        return kernel, bias
    factor, offset = affine
    by_channel = tf.reshape(kernel, (-1, factor.shape[0], kernel.shape[1]))
    moved = bias + tf.linalg.matvec(tf.reduce_sum(by_channel, 0), offset, transpose_a=True)
    return tf.reshape(factor[:, tf.newaxis] * by_channel, kernel.shape), moved

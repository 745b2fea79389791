"""Convolution over frequency: filters with weights shared by all mel bins, and max-pooling, before LSTM layers.

Another vocal tract moves a spectrum, roughly, along the mel axis. What a filter finds in one bin it finds in others,
and max-pooling hides where exactly (Abdel-Hamid 2014, section III). The layers are those before the LSTMs of Sainath
2015 (CLDNN, section 2.1), but smaller, and no filter is longer in time than a stacked vector:

    x [bins, frames] -> convolution, width_bins x all frames -> rectifier -> max-pooling by pool_bins
      -> convolution, pooled_width_bins x 1 -> rectifier -> linear projection to `size` values

A vector's output depends on that vector alone: streams carry no state for it, and it adds no latency of its own.
"""

from sonorant.models.applications import Applications
from sonorant.models.batch_normalisation import BatchNormalisation
from sonorant.models.convolution_section import FrequencyConvolutionRecipe
from sonorant.models.half_precision import Dense
from sonorant.models.pooled_filters import PooledFilters
from sonorant.tensorflow import keras, tf

__all__ = ["FrequencyConvolution"]

_SEEDS = 10_000  # of first weights: beyond those of the layers behind, which would begin with the same numbers


class FrequencyConvolution(keras.layers.Layer):
    """Maps stacked vectors to vectors of `size` values; without a recipe it is the identity.

    bins: size of a stacked vector, `recipe.frames` times that of a frame; seed: of the first weights.
    """

    def __init__(self, bins: int, recipe: FrequencyConvolutionRecipe | None, seed: int) -> None:
        super().__init__(name="frequency_convolution")
        self.recipe = recipe
        self.size = recipe.size if recipe else bins
        self.batch_normalisation: list[BatchNormalisation] = []  # none, as a `Convolution2d` may have
        self._positions: dict[str, int] = {}
        if recipe:
            assert bins % recipe.frames == 0
            self._build_layers(bins // recipe.frames, recipe, _SEEDS + 3 * seed)
        self.built = True

    def _build_layers(self, bins: int, recipe: FrequencyConvolutionRecipe, seed: int) -> None:
        maxima, last = recipe.maxima(bins), recipe.positions(bins)
        widths = recipe.width_bins * recipe.frames, recipe.pooled_width_bins * recipe.filters
        pools = (recipe.pool_bins, maxima), (1, last)
        self.convolutions = [
            PooledFilters(width, recipe.filters, *pool, seed + i, f"convolution_{i}")
            for i, (width, pool) in enumerate(zip(widths, pools, strict=True))
        ]
        glorot = keras.initializers.GlorotUniform(seed + 2)
        self.projection = Dense(recipe.size, kernel_initializer=glorot, name="convolution_projection")
        self.projection.build((None, last * recipe.filters))
        # Positions beyond the last whole pool are not computed.
        counts = (maxima * recipe.pool_bins, last, 1)
        self._positions = dict(zip(("convolution_0", "convolution_1", "convolution_projection"), counts, strict=True))

    def call(self, vectors: tf.Tensor, lengths: tf.Tensor | None = None) -> tf.Tensor:
        """Return Float32[B, T, size]; vectors: Float32[B, T, bins], the frames of each one after another.

        lengths: for a `Convolution2d`; no vector's output depends on them here.
        """
        del lengths
        if self.recipe is None:
            return vectors
        frames, shape = self.recipe.frames, tf.shape(vectors)
        found = tf.transpose(tf.reshape(vectors, (-1, frames, vectors.shape[2] // frames)), (2, 0, 1))
        for convolution in self.convolutions:
            found = convolution(found)
        found = tf.transpose(found, (1, 0, 2))
        return self.projection(tf.reshape(found, (shape[0], shape[1], found.shape[1] * found.shape[2])))

    def one_by_one(self, vectors: tf.Tensor) -> tf.Tensor:
        """Return what `call` does, each vector by products of B rows, for streams; T must be known.

        Batch-invariance needs them (`pooled_convolution`).
        """
        if self.recipe is None:
            return vectors
        return tf.concat([self(vector) for vector in tf.split(vectors, vectors.shape[1], axis=1)], 1)

    def applications(self, layer: str, vectors: int) -> Applications | None:
        """Return how often that layer's weights are applied to so many vectors; None if it is no layer of these."""
        positions = self._positions.get(layer)
        return None if positions is None else Applications(positions * vectors)

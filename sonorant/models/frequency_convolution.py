"""Convolution over frequency: filters with weights shared by all mel bins, and max-pooling, before LSTM layers.

Another vocal tract moves a spectrum, roughly, along the mel axis. What a filter finds in one bin it finds in others,
and max-pooling hides where exactly (Abdel-Hamid 2014, section III). The layers are those before the LSTMs of Sainath
2015 (CLDNN, section 2.1), but smaller, and no filter is longer in time than a stacked vector:

    x [bins, frames] -> convolution, width_bins x all frames -> rectifier -> max-pooling by pool_bins
      -> convolution, pooled_width_bins x 1 -> rectifier -> linear projection to `size` values

A vector's output depends on that vector alone: streams carry no state for it, and it adds no latency of its own.
"""

from sonorant.models.convolution_section import FrequencyConvolutionRecipe
from sonorant.models.half_precision import Dense
from sonorant.models.pooled_filters import PooledFilters, Windows
from sonorant.models.vector_convolution import VectorConvolution
from sonorant.tensorflow import keras, tf

__all__ = ["FrequencyConvolution"]

_SEEDS = 10_000  # of first weights: beyond those of the layers behind, which would begin with the same numbers


class FrequencyConvolution(VectorConvolution):
    """Maps stacked vectors to vectors of `size` values; without a recipe it is the identity.

    bins: size of a stacked vector, `recipe.frames` times that of a frame; seed: of the first weights.
    """

    def __init__(self, bins: int, recipe: FrequencyConvolutionRecipe | None, seed: int) -> None:
        super().__init__("frequency_convolution", {})
        self.recipe = recipe
        self.size = recipe.size if recipe else bins
        if recipe:
            assert bins % recipe.frames == 0
            self._build_layers(bins // recipe.frames, recipe, _SEEDS + 3 * seed)
        self.built = True

    def _build_layers(self, bins: int, recipe: FrequencyConvolutionRecipe, seed: int) -> None:
        maxima, last = recipe.maxima(bins), recipe.positions(bins)
        first = Windows(frames=1, bins=recipe.width_bins, stride_frames=1, pool=recipe.pool_bins, maxima=maxima)
        second = Windows(frames=1, bins=recipe.pooled_width_bins, stride_frames=1, pool=1, maxima=last)
        self.convolutions = [
            PooledFilters(first, recipe.frames, recipe.filters, seed, "convolution_0"),
            PooledFilters(second, recipe.filters, recipe.filters, seed + 1, "convolution_1"),
        ]
        glorot = keras.initializers.GlorotUniform(seed + 2)
        self.projection = Dense(recipe.size, kernel_initializer=glorot, name="convolution_projection")
        self.projection.build((None, last * recipe.filters))
        # Positions beyond the last whole pool are not computed.
        counts = (maxima * recipe.pool_bins, last, 1)
        self._positions = dict(zip(("convolution_0", "convolution_1", "convolution_projection"), counts, strict=True))

    def call(self, vectors: tf.Tensor, lengths: tf.Tensor | None = None) -> tf.Tensor:
        """See `VectorConvolution`; all vectors are computed, whatever `lengths` count."""
        del lengths
        if self.recipe is None:
            return vectors
        frames, shape = self.recipe.frames, tf.shape(vectors)
        spectra = tf.transpose(tf.reshape(vectors, (-1, frames, vectors.shape[2] // frames)), (2, 0, 1))
        maps = spectra[tf.newaxis]  # all frames of a bin are its channels
        for convolution in self.convolutions:
            maps = convolution(maps)
        found = tf.transpose(maps[0], (1, 0, 2))
        return self.projection(tf.reshape(found, (shape[0], shape[1], found.shape[1] * found.shape[2])))

    def one_by_one(self, vectors: tf.Tensor) -> tf.Tensor:
        """See `VectorConvolution`."""
        return vectors if self.recipe is None else super().one_by_one(vectors)

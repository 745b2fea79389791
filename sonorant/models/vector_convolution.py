"""What convolutions before LSTM layers share: each maps a stacked vector by itself, so that streams need no state."""

from collections.abc import Sequence

from sonorant.models.applications import Applications
from sonorant.models.batch_normalisation import BatchNormalisation
from sonorant.tensorflow import keras, tf

__all__ = ["VectorConvolution"]


class VectorConvolution(keras.layers.Layer):
    """Maps stacked vectors to vectors of `size` values.

    positions: how often the weights of each layer are applied to a vector. batch_normalisation: layers of that kind.
    """

    size: int
    batch_normalisation: Sequence[BatchNormalisation] = ()

    def __init__(self, name: str, positions: dict[str, int]) -> None:
        super().__init__(name=name)
        self._positions = positions

    def call(self, vectors: tf.Tensor, lengths: tf.Tensor | None = None) -> tf.Tensor:
        """Return Float32[B, T, size]; vectors: Float32[B, T, bins], the frames of each one after another.

        lengths: Int32[B], in training, where batches are normalised by their own moments: vectors to compute and to
        normalise over, those of a delay, a look-ahead or a block's fill among them; what follows them is undefined.
        """
        raise NotImplementedError

    def one_by_one(self, vectors: tf.Tensor) -> tf.Tensor:
        """Return what `call` does, each vector by products of B rows, for streams; T must be known.

        Batch-invariance needs them (`pooled_convolution`).
        """
        return tf.concat([self(vector) for vector in tf.split(vectors, vectors.shape[1], axis=1)], 1)

    def applications(self, layer: str, vectors: int) -> Applications | None:
        """Return how often that layer's weights are applied to so many vectors; None if it is no layer of these."""
        positions = self._positions.get(layer)
        return None if positions is None else Applications(positions * vectors)

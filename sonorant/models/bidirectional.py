"""A bidirectional LSTM encoder that shortens the sequence between its layers."""

from collections.abc import Callable, Sequence

from sonorant.models.layers_in_use import layers_in_use
from sonorant.models.lstm import Lstm
from sonorant.models.reversal import reversed_utterances
from sonorant.tensorflow import keras, tf

__all__ = ["BidirectionalEncoder", "max_pool"]

_LOWEST = float(tf.float32.min)


class BidirectionalEncoder(keras.layers.Layer):
    """Layers of LSTMs in both directions (Schuster 1997), max-pooled over time (Zeyer 2018, section 3).

    pooling: frames that become one after the first, second, ... layer; layers beyond it keep the length. An utterance
    of n frames comes out with ceil(n / product of pooling). Its outputs do not depend on padding.
    """

    def __init__(
        self, inputs: int, layers: int, cells: int, pooling: Sequence[int], seed: int, name: str = "encoder"
    ) -> None:
        super().__init__(name=name)
        self.size = 2 * cells
        self._pooling = (*pooling, *(1,) * (layers - len(pooling)))
        sizes = [inputs] + [self.size] * (layers - 1)
        self.forward = [Lstm(n, cells, seed + 2 * i, f"lstm_{i}_forward") for i, n in enumerate(sizes)]
        self.backward = [Lstm(n, cells, seed + 2 * i + 1, f"lstm_{i}_backward") for i, n in enumerate(sizes)]
        self._active = tuple(range(layers))
        self.built = True

    def set_layers(self, count: int) -> None:
        """Use so many layers: the lower ones, and the top one; frames are pooled after the same numbers of layers."""
        self._active = layers_in_use(count, len(self.forward))

    def encode(
        self, features: tf.Tensor, lengths: tf.Tensor, drop: Callable[[tf.Tensor, int], tf.Tensor]
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return encoded frames [B, T', 2 cells] and their lengths Int32[B].

        features: [B, T, inputs]. drop: dropout of the outputs of a layer, by its number.
        """
        hidden = tf.transpose(features, (1, 0, 2))
        for i, pool in zip(self._active, self._pooling, strict=False):
            back = _run(self.backward[i], reversed_utterances(hidden, lengths))
            back = reversed_utterances(back, lengths)
            hidden, lengths = max_pool(tf.concat([_run(self.forward[i], hidden), back], 2), lengths, pool)
            hidden = drop(hidden, i)
        return tf.transpose(hidden, (1, 0, 2)), lengths


def max_pool(hidden: tf.Tensor, lengths: tf.Tensor, size: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the maxima [ceil(T / size), B, n] of `size` frames each, and the number of maxima of each utterance.

    hidden: [T, B, n]. Windows begin at frame 0, and of the last one only frames below `lengths` count; RETURNN pads on
    both sides, by which the windows of an utterance would depend on the longest in its batch.
    """
    if size == 1:
        return hidden, lengths
    frames = tf.shape(hidden)[0]
    hidden = tf.where(_present(lengths, frames), hidden, _LOWEST)
    hidden = tf.pad(hidden, ((0, -frames % size), (0, 0), (0, 0)), constant_values=_LOWEST)
    windows = tf.reshape(hidden, (-1, size, tf.shape(hidden)[1], hidden.shape[2]))
    maxima = tf.reduce_max(windows, axis=1)
    lengths = -(-lengths // size)
    return tf.where(_present(lengths, tf.shape(maxima)[0]), maxima, 0.0), lengths


def _present(lengths: tf.Tensor, frames: tf.Tensor) -> tf.Tensor:
    """Return Bool[frames, B, 1]: which frames are no padding."""
    return tf.range(frames)[:, tf.newaxis, tf.newaxis] < lengths[:, tf.newaxis]


def _run(layer: Lstm, inputs: tf.Tensor) -> tf.Tensor:
    start = tf.zeros((tf.shape(inputs)[1], layer.cells))
    outputs, *_ = layer(inputs, start, start)
    return outputs

"""A uni-directional LSTM encoder that shortens the sequence between its layers, with explicit state for streams."""

from collections.abc import Callable, Sequence

from sonorant.models.layers_in_use import layers_in_use
from sonorant.models.lstm import Lstm
from sonorant.tensorflow import keras, tf

__all__ = ["UnidirectionalEncoder", "max_pool_whole"]


class UnidirectionalEncoder(keras.layers.Layer):
    """Layers of LSTMs, max-pooled over time (Zeyer 2018, section 3), without look-ahead.

    pooling: frames that become one after the first, second, ... layer; layers beyond it keep the length. A block is as
    many vectors as all of them make one.
    """

    def __init__(
        self, inputs: int, layers: int, cells: int, pooling: Sequence[int], seed: int, name: str = "encoder"
    ) -> None:
        super().__init__(name=name)
        self.size = cells
        self._pooling = (*pooling, *(1,) * (layers - len(pooling)))
        sizes = [inputs] + [cells] * (layers - 1)
        self.lstms = [Lstm(n, cells, seed + i, f"lstm_{i}") for i, n in enumerate(sizes)]
        self._active = tuple(range(layers))
        self.built = True

    def set_layers(self, count: int) -> None:
        """Use so many layers: the lower ones, and the top one; frames are pooled after the same numbers of layers."""
        self._active = layers_in_use(count, len(self.lstms))

    @property
    def states(self) -> int:
        """Tensors of the state."""
        return 2 * len(self.lstms)

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """Return cell and hidden state [batch, cells] of each layer in turn, before the first vector."""
        return [tf.zeros((batch, self.size)) for _ in range(self.states)]

    def encode(self, features: tf.Tensor, drop: Callable[[tf.Tensor, int], tf.Tensor]) -> tf.Tensor:
        """Return the encoded frames [B, T / block, cells] of whole blocks [B, T, inputs].

        drop: dropout of the outputs of a layer, by its number.
        """
        encoded, _ = self._advance(features, self.initial_state(tf.shape(features)[0]), drop)
        return encoded

    def step(self, features: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return the encoded frame [B, 1, cells] of the next block [B, block, inputs], and the state after it."""
        return self._advance(features, state, lambda hidden, layer: hidden)

    def _advance(
        self, features: tf.Tensor, state: list[tf.Tensor], drop: Callable[[tf.Tensor, int], tf.Tensor]
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        hidden = tf.transpose(features, (1, 0, 2))  # the kernel's loop takes [T, B, inputs]
        after = list(state)
        for i, pool in zip(self._active, self._pooling, strict=False):
            hidden, after[2 * i], after[2 * i + 1] = self.lstms[i](hidden, state[2 * i], state[2 * i + 1])
            hidden = drop(max_pool_whole(hidden, pool), i)
        return tf.transpose(hidden, (1, 0, 2)), after


def max_pool_whole(hidden: tf.Tensor, size: int) -> tf.Tensor:
    """Return the maxima [T / size, B, n] of `size` frames each of [T, B, n], whole windows."""
    if size == 1:
        return hidden
    return tf.reduce_max(tf.reshape(hidden, (-1, size, tf.shape(hidden)[1], hidden.shape[2])), 1)

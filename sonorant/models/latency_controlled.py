"""A bidirectional LSTM encoder for streams: latency-controlled layers, which hear a bounded part of what comes.

An utterance is cut into chunks. Forwards a layer runs through all of it, as any LSTM; backwards through each chunk on
its own, from the end of the chunk after it, whose vectors prepare the state and have no output (Zhang 2016, arXiv
1510.08983, with a right context as long as the chunk). There all layers see the same window; here a layer's right
context is the output of the layer below, as everywhere, so that training has one output for each vector, as a stream
has, and each layer adds a chunk to the latency.
"""

import math
from collections.abc import Callable, Sequence

from sonorant.models.compiled_chunks import compiled_chunks
from sonorant.models.lstm import Lstm
from sonorant.models.unidirectional import max_pool_whole
from sonorant.tensorflow import keras, tf

__all__ = ["LatencyControlledEncoder"]

_STATES = 3  # of a layer


class LatencyControlledEncoder(keras.layers.Layer):
    """Layers of LSTMs in both directions, max-pooled over time (Zeyer 2018, section 3).

    pooling: frames that become one after the first, second, ... layer; layers beyond it keep the length. chunk: encoded
    frames of a chunk, each of as many vectors as all poolings make one.
    """

    def __init__(
        self,
        inputs: int,
        layers: int,
        cells: int,
        pooling: Sequence[int],
        chunk: int,
        seed: int,
        name: str = "encoder",
    ) -> None:
        super().__init__(name=name)
        self.size = 2 * cells
        self._cells = cells
        self._pooling = (*pooling, *(1,) * (layers - len(pooling)))
        self._chunks = [chunk * math.prod(self._pooling[i:]) for i in range(layers)]  # in vectors of each layer
        self._inputs = sizes = [inputs] + [self.size] * (layers - 1)
        self.forward = [Lstm(n, cells, seed + 2 * i, f"lstm_{i}_forward") for i, n in enumerate(sizes)]
        self.backward = [Lstm(n, cells, seed + 2 * i + 1, f"lstm_{i}_backward") for i, n in enumerate(sizes)]
        self.built = True

    def set_layers(self, count: int) -> None:
        """See `Model`: the latency is that of all layers."""
        raise NotImplementedError

    @property
    def states(self) -> int:
        """Tensors of the state."""
        return _STATES * len(self._chunks) + 1

    def initial_state(self, batch: int | tf.Tensor) -> list[tf.Tensor]:
        """Return the state before the first vector.

        For each layer in turn cell and hidden state [batch, cells], and the chunk [batch, vectors, inputs] that it has
        heard and not encoded; then the chunks so far, [batch, 1].
        """
        state = []
        for vectors, inputs in zip(self._chunks, self._inputs, strict=True):
            state += [tf.zeros((batch, self._cells)), tf.zeros((batch, self._cells))]
            state += [tf.zeros((batch, vectors, inputs))]
        return [*state, tf.zeros((batch, 1))]

    def encode(self, features: tf.Tensor, drop: Callable[[tf.Tensor, int], tf.Tensor]) -> tf.Tensor:
        """Return the encoded frames [B, T', 2 cells] of all chunks but as many at the end as there are layers.

        features: [B, T, inputs], whole chunks. drop: dropout of the outputs of a layer, by its number.
        """
        hidden = tf.transpose(features, (1, 0, 2))  # the kernel's loop takes [T, B, inputs]
        for i, vectors in enumerate(self._chunks):
            # By a split, whose gradient takes a tenth of that of an index.
            own, _ = tf.split(hidden, [tf.shape(hidden)[0] - vectors, vectors])
            start = tf.zeros((tf.shape(hidden)[1], self._cells))
            forth, *_ = self.forward[i](own, start, start)
            both = tf.concat([forth, self._backwards_by_chunk(i, hidden)], 2)
            hidden = drop(max_pool_whole(both, self._pooling[i]), i)
        return tf.transpose(hidden, (1, 0, 2))

    def step(self, features: tf.Tensor, state: list[tf.Tensor]) -> tuple[tf.Tensor, list[tf.Tensor]]:
        """Return the encoded frames [B, chunk, 2 cells] of an earlier chunk, and the state after the next one.

        features: [B, T, inputs], a chunk. The first frames of a stream are void, of as many chunks as there are layers.
        """
        *layers, chunks = state
        hidden, after = tf.transpose(features, (1, 0, 2)), []
        for i in range(len(self._chunks)):
            cell, last, waiting = layers[_STATES * i : _STATES * (i + 1)]
            own = tf.transpose(waiting, (1, 0, 2))
            back = self._backwards(i, *(self.backward[i].project(tf.reverse(chunk, [0])) for chunk in (hidden, own)))
            forth, *later = self.forward[i](own, cell, last)
            whole = chunks > i  # what waited is a chunk of the stream
            after += [tf.where(whole, new, old) for new, old in zip(later, (cell, last), strict=True)]
            after.append(tf.ensure_shape(tf.transpose(hidden, (1, 0, 2)), waiting.shape))
            hidden = max_pool_whole(tf.concat([forth, tf.reverse(back, [0])], 2), self._pooling[i])
        return tf.transpose(hidden, (1, 0, 2)), [*after, chunks + 1]

    def _backwards_by_chunk(self, layer: int, sequence: tf.Tensor) -> tf.Tensor:
        """Return a layer's outputs backwards [T, B, cells] for whole chunks [T + vectors, B, inputs] but the last."""
        lstm, vectors, rows = self.backward[layer], self._chunks[layer], tf.shape(sequence)[1]
        if lstm.kernel == "compiled":
            return compiled_chunks(lstm.project(sequence), lstm.recurrent, vectors)
        chunks = lstm.project(_side_by_side(tf.reverse(sequence, [0]), vectors))
        following, _ = tf.split(chunks, [tf.shape(chunks)[1] - rows, rows], 1)
        _, own = tf.split(chunks, [rows, -1], 1)
        return tf.reverse(_one_after_another(self._backwards(layer, following, own), rows), [0])

    def _backwards(self, layer: int, following: tf.Tensor, own: tf.Tensor) -> tf.Tensor:
        """Return a layer's outputs [T, N, cells] for chunks `own`, from the end of the chunks that follow them.

        Time runs backwards: the last vector is the first. following, own: see `Lstm.project`.
        """
        start = tf.zeros((tf.shape(own)[1], self._cells))
        _, *state = self.backward[layer].recur(following, start, start)
        back, *_ = self.backward[layer].recur(own, *state)
        return back


def _side_by_side(sequence: tf.Tensor, vectors: int) -> tf.Tensor:
    """Return the chunks of so many vectors of [T, B, n] as rows: [vectors, chunks B, n]."""
    chunks = tf.reshape(sequence, (-1, vectors, tf.shape(sequence)[1], sequence.shape[2]))
    return tf.reshape(tf.transpose(chunks, (1, 0, 2, 3)), (vectors, -1, sequence.shape[2]))


def _one_after_another(chunks: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Return the sequence [T, rows, n] of which chunks are rows, [vectors, chunks rows, n]."""
    vectors, size = tf.shape(chunks)[0], chunks.shape[2]
    apart = tf.transpose(tf.reshape(chunks, (vectors, -1, rows, size)), (1, 0, 2, 3))
    return tf.reshape(apart, (-1, rows, size))

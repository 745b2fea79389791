"""An LSTM decoder with attention: from encoded frames and the labels before to log-probabilities of the next label."""

from collections.abc import Callable
from typing import Any, NamedTuple

from sonorant.models.attention import Attending, Attention
from sonorant.models.compiled_decoder import Teacher
from sonorant.models.half_precision import HalfPrecision, product
from sonorant.models.kernel_calls import HasKernel
from sonorant.models.label_synchronous import DecoderStep
from sonorant.models.lstm import LstmCell
from sonorant.tensorflow import keras, tf

__all__ = ["AttentionDecoder", "Sampling"]

_PIECES = 2  # of maxout
_STATES = 3  # cell, hidden and context; those of the attention follow


class Sampling(NamedTuple):
    """Scheduled sampling (Bengio 2015): share, Float32[], of labels before that are drawn; seed: Int32[2]."""

    share: tf.Tensor
    seed: tf.Tensor


class AttentionDecoder(HasKernel, HalfPrecision):
    """One LSTM, an attention, and a maxout readout (Zeyer 2018, section 3).

    For label l of an utterance,

        s_l = LSTM([y_{l-1}, c_{l-1}], s_{l-1}),   c_l = attention(s_l),   P(y_l | ...) = softmax(W r + b),
        r = maxout of linear([s_l, y_{l-1}, c_l]),

    where y_{l-1} is the embedding of the label before. Before the first label comes the end of an utterance, `end`, the
    last symbol; its embedding is learned (that of RETURNN is zero). state: cell and hidden state [B, K, cells], context
    [B, K, encoded size], then the attention's.

    `compiled` has kernels teach it, which needs a CPU; with scheduled sampling a loop of TensorFlow's does.
    """

    def __init__(
        self, attention: Attention, encoded: int, symbols: int, cells: int, embedding: int, readout: int, seed: int
    ) -> None:
        """Make the weights; encoded: size of an encoded frame; readout: linear units before maxout, an even number."""
        super().__init__(name="decoder")
        self.attention = attention
        self.end = symbols - 1
        self._encoded = encoded
        glorot = [keras.initializers.GlorotUniform(seed=seed * 3 + i) for i in range(3)]
        self.embedding = self.add_weight(shape=(symbols, embedding), initializer=glorot[0], name="embedding")
        self.cell = LstmCell(embedding + encoded, cells, seed, "decoder_lstm")
        joined = cells + embedding + encoded
        self.readout = self.add_weight(shape=(joined, readout), initializer=glorot[1], name="readout")
        self.readout_bias = self.add_weight(shape=(readout,), initializer="zeros", name="readout_bias")
        self.projection = self.add_weight(shape=(readout // _PIECES, symbols), initializer=glorot[2], name="projection")
        self.projection_bias = self.add_weight(shape=(symbols,), initializer="zeros", name="projection_bias")
        self.built = True

    def initial_state(self, memory: list[tf.Tensor], hypotheses: int | tf.Tensor) -> list[tf.Tensor]:
        """Return the state [B, hypotheses, ...] before the first label."""
        batch = tf.shape(memory[0])[0]
        return self._zeros((batch, hypotheses)) + self.attention.initial_state(memory, hypotheses)

    def step(self, before: tf.Tensor, memory: list[tf.Tensor], state: list[tf.Tensor]) -> DecoderStep:
        """Return what follows the labels `before`, Int32[B, K]; `end` before the first."""
        embedded = tf.gather(self.embedding.value, before)
        joined, weights, state = self._advance(embedded, memory, state, self.attention)
        return DecoderStep(self._log_probs(joined), weights, state)

    def unattended(self, hypotheses: int | tf.Tensor) -> list[tf.Tensor]:
        """Return cell, hidden state and context [hypotheses, n] before the first label."""
        return self._zeros((hypotheses,))

    def query(self, before: tf.Tensor, state: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return cell and hidden state after labels `before`, Int32[N]; state: those before, and context, [N, n]."""
        cell, hidden, context = state
        return list(self.cell.advance(tf.concat([tf.gather(self.embedding.value, before), context], -1), cell, hidden))

    def read(self, before: tf.Tensor, hidden: tf.Tensor, context: tf.Tensor) -> tf.Tensor:
        """Return log-probabilities [N, symbols] of what follows the labels `before`, Int32[N]."""
        return self._log_probs(tf.concat([hidden, tf.gather(self.embedding.value, before), context], -1))

    def teach(
        self,
        labels: tf.Tensor,
        memory: list[tf.Tensor],
        sampling: Sampling | None = None,
        drop: Callable[[tf.Tensor], tf.Tensor] = lambda readout: readout,
        attention: Attending | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return log-probabilities [B, L + 1, symbols] of each label and of the end, and the weights [B, L + 1, T].

        labels: Int32[B, L], those before each (teacher forcing), but for what `sampling` draws from the model in their
        place. drop: dropout of the readout. attention: what the attention is in training, if it differs.
        """
        before = tf.pad(tf.clip_by_value(labels, 0, self.end), ((0, 0), (1, 0)), constant_values=self.end)
        embedded = tf.transpose(tf.gather(self.embedding.value, before), (1, 0, 2))
        attending = attention or self.attention
        taught = self._by_kernel(embedded, memory, attending) if self.compiled and sampling is None else None
        joined, weights = taught or self._through_labels(
            embedded[:, :, tf.newaxis], memory, attending, self._next_label(sampling)
        )
        return tf.transpose(self._log_probs(joined, drop), (1, 0, 2)), tf.transpose(weights, (1, 0, 2))

    def _by_kernel(
        self, embedded: tf.Tensor, memory: list[tf.Tensor], attention: Attending
    ) -> tuple[tf.Tensor, tf.Tensor] | None:
        """Return what `_through_labels` does, by the attention's kernel if it has one; embedded: [L + 1, B, n]."""
        taught = attention.through_labels(Teacher(embedded, self.cell.weight.value, self.cell.bias.value), memory)
        if taught is None:
            return None
        return tf.concat([taught.hidden, embedded, taught.contexts], -1), taught.weights

    def _through_labels(
        self,
        embedded: tf.Tensor,
        memory: list[tf.Tensor],
        attention: Attending,
        choose: Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor] | None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return what the readout takes [L + 1, B, n], and the weights [L + 1, B, T]; the readout needs no loop.

        embedded: [L + 1, B, 1, n], of the label before each. choose: see `_next_label`.
        """
        steps = tf.shape(embedded)[0]
        taught = tf.TensorArray(tf.float32, steps, clear_after_read=False).unstack(embedded)
        size = self.readout.shape[0]
        written = tf.TensorArray(tf.float32, steps, element_shape=[None, 1, size])
        looked = tf.TensorArray(tf.float32, steps, element_shape=[None, 1, None])

        def advance(
            number: tf.Tensor, before: tf.Tensor, state: list[tf.Tensor], written: Any, looked: Any
        ) -> tuple[Any, ...]:
            joined, weights, state = self._advance(before, memory, state, attention)
            after = taught.read(tf.minimum(number + 1, steps - 1))
            if choose is not None:
                after = choose(number, joined, after)
            return number + 1, after, state, written.write(number, joined), looked.write(number, weights)

        state = self._zeros((tf.shape(memory[0])[0], 1)) + attention.initial_state(memory, 1)
        first = (tf.constant(0), embedded[0], state, written, looked)
        *_, written, looked = tf.while_loop(lambda number, *_: number < steps, advance, first)
        return written.stack()[:, :, 0], looked.stack()[:, :, 0]

    def _zeros(self, shape: tuple[int | tf.Tensor, ...]) -> list[tf.Tensor]:
        return [tf.zeros((*shape, n)) for n in (self.cell.cells, self.cell.cells, self._encoded)]

    def _advance(
        self, embedded: tf.Tensor, memory: list[tf.Tensor], state: list[tf.Tensor], attention: Attending
    ) -> tuple[tf.Tensor, tf.Tensor, list[tf.Tensor]]:
        """Return [s_l, y_{l-1}, c_l] [B, K, n], the attention's weights [B, K, T], and the state after."""
        cell, hidden, context = state[:_STATES]
        cell, hidden = self.cell.advance(tf.concat([embedded, context], -1), cell, hidden)
        attended = attention.attend(hidden, memory, state[_STATES:])
        joined = tf.concat([hidden, embedded, attended.context], -1)
        return joined, attended.weights, [cell, hidden, attended.context, *attended.state]

    def _next_label(self, sampling: Sampling | None) -> Callable[[tf.Tensor, tf.Tensor, tf.Tensor], tf.Tensor] | None:
        """Return what replaces the embedding of the next label before, [B, 1, n], by that of a drawn one now and then.

        Its arguments: the label's number; what the readout takes there; the embedding that the teacher gives.
        """
        if sampling is None:
            return None

        def choose(number: tf.Tensor, joined: tf.Tensor, taught: tf.Tensor) -> tf.Tensor:
            seed = sampling.seed + tf.stack([tf.constant(0), 2 * number])
            log_probs = self._log_probs(joined)[:, 0]
            drawn = tf.random.stateless_categorical(log_probs, 1, seed, tf.int32)
            replaced = tf.random.stateless_uniform(tf.shape(drawn), seed + tf.constant([0, 1])) < sampling.share
            return tf.where(replaced[..., tf.newaxis], tf.gather(self.embedding.value, drawn), taught)

        return choose

    def _log_probs(
        self, joined: tf.Tensor, drop: Callable[[tf.Tensor], tf.Tensor] = lambda readout: readout
    ) -> tf.Tensor:
        """Return log-probabilities [..., symbols]."""
        linear = product(joined, self.readout.value, self.compute_dtype) + self.readout_bias.value
        shape = tf.concat([tf.shape(linear)[:-1], [linear.shape[-1] // _PIECES, _PIECES]], 0)
        readout = drop(tf.reduce_max(tf.reshape(linear, shape), -1))
        projected = product(readout, self.projection.value, self.compute_dtype)
        return tf.nn.log_softmax(projected + self.projection_bias.value)

"""Monotonic chunkwise attention (MoChA; Chiu & Raffel 2018), in expectation for training and hard for recognition.

A head moves over the encoded frames h_1, h_2, ... of an utterance, forwards only. For label l, with the decoder's
hidden state s_l as query, it goes on from where label l - 1 left it, and stops at the first frame t with a monotonic
energy

    e_{l,t} = g (v / |v|)^T tanh(W s_l + V h_t + b) + r                               (Raffel 2017, section 2.4)

above 0, that is with p_{l,t} = sigmoid(e_{l,t}) above a half; the context is a softmax of chunk energies u over the
last `chunk` frames up to the head (Chiu 2018, section 2.3). In training the head's position is random: it stops with
probability p_{l,t}, of an energy with standard normal noise, and has the distribution

    alpha_{l,t} = p_{l,t} q_{l,t},   q_{l,t} = (1 - p_{l,t-1}) q_{l,t-1} + alpha_{l-1,t}     (Raffel 2017, section 2.3)

with alpha_0 one-hot on the first frame. It may go past the last frame: then nothing is attended to, context and weights
are 0, for this label and all after it. Padding has p = 0.
"""

import functools
import math

from sonorant.models.attention import MASKED, Attended, Attention
from sonorant.models.compiled_decoder import TaughtLabels, Teacher, through_labels
from sonorant.models.kernels import TaughtMonotonic
from sonorant.tensorflow import keras, tf

__all__ = ["ExpectedAttention", "MonotonicAttention", "chunk_weights", "log_head_distribution"]


class MonotonicAttention(Attention):
    """Hard attention. size: of an encoded frame; query, inner: of query and hidden layer.

    offset, scale: first values of r and g. With 0 that of g is 1 / sqrt(inner): |tanh(...)| is at most sqrt(inner), so
    energies start within 1 of r.

    memory: h [B, T, size], V h + b of both energies [B, T, inner], and 1, or 0 in padding, [B, T]. state: Int32[B, K],
    the head's frame, T where it is past the last one.
    """

    def __init__(
        self,
        size: int,
        query: int,
        inner: int,
        chunk: int,
        offset: float,
        seed: int,
        scale: float = 0.0,
        name: str = "attention",
    ) -> None:
        super().__init__(name=name)
        self.chunk = chunk
        self.monotonic = _Energy(size, query, inner, seed * 2, "monotonic")
        self.chunkwise = _Energy(size, query, inner, seed * 2 + 1, "chunkwise")
        first = keras.initializers.Constant(scale or 1 / math.sqrt(inner))
        self.scale = self.add_weight(shape=(), initializer=first, name="scale")
        self.offset = self.add_weight(shape=(), initializer=keras.initializers.Constant(offset), name="offset")
        self.built = True

    def memory(self, encoded: tf.Tensor, lengths: tf.Tensor) -> list[tf.Tensor]:
        """See `Attention` and the class."""
        present = tf.sequence_mask(lengths, tf.shape(encoded)[1], tf.float32)
        return [encoded, self.monotonic.keys(encoded), self.chunkwise.keys(encoded), present]

    def initial_state(self, memory: list[tf.Tensor], hypotheses: int | tf.Tensor) -> list[tf.Tensor]:
        """See `Attention`: the head on the first frame."""
        return [tf.zeros((tf.shape(memory[0])[0], hypotheses), tf.int32)]

    def attend(self, query: tf.Tensor, memory: list[tf.Tensor], state: list[tf.Tensor]) -> Attended:
        """See `Attention`."""
        encoded, keys, chunk_keys, present = memory
        (head,) = state
        frames = tf.shape(encoded)[1]
        ahead = tf.range(frames) >= head[..., tf.newaxis]
        stops = ahead & (present[:, tf.newaxis] > 0) & (self.energies(query, keys) > 0)
        found = tf.reduce_any(stops, -1)
        first = tf.argmax(tf.cast(stops, tf.int32), -1, tf.int32)
        alpha = tf.one_hot(tf.where(found, first, -1), frames)
        weights = chunk_weights(alpha, self.chunkwise.energies(query, chunk_keys, normalised=False), self.chunk)
        return Attended(tf.matmul(weights, encoded), weights, [tf.where(found, first, frames)])

    def energies(self, query: tf.Tensor, keys: tf.Tensor) -> tf.Tensor:
        """Return e, [..., N, T], of queries [..., N, n] at frames of which [..., T, inner] are the keys."""
        return self.scale.value * self.monotonic.energies(query, keys, normalised=True) + self.offset.value

    def look(self, query: tf.Tensor, window: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Return whether the head stops at the last frame of a window, Bool[N], and the context there, [N, size].

        query: [N, n]; window: [at most `chunk`, size]. At a window without frames, past the last one, every head stops,
        and contexts are 0.
        """
        stops = tf.reduce_all(self.energies(query, self.monotonic.keys(window[-1:])) > 0, -1)
        weights = tf.nn.softmax(self.chunkwise.energies(query, self.chunkwise.keys(window), normalised=False))
        return stops, tf.matmul(weights, window)


class ExpectedAttention:
    """The same attention in expectation, with noise that is drawn from a seed, Int32[2].

    The weights that it returns are the head's distribution, which losses are functions of; their sum is that of the
    weights of frames. state: log alpha, [B, K, T], and the label's number, Int32[].
    """

    def __init__(self, attention: MonotonicAttention, noise_seed: tf.Tensor) -> None:
        self._attention = attention
        self._seed = noise_seed

    def initial_state(self, memory: list[tf.Tensor], hypotheses: int | tf.Tensor) -> list[tf.Tensor]:
        """See `Attention`: the head on the first frame."""
        shape = tf.shape(memory[0])
        first = tf.where(tf.range(shape[1]) == 0, 0.0, MASKED)
        return [tf.tile(first[tf.newaxis, tf.newaxis], (shape[0], hypotheses, 1)), tf.constant(0)]

    def attend(self, query: tf.Tensor, memory: list[tf.Tensor], state: list[tf.Tensor]) -> Attended:
        """See `Attention`."""
        encoded, keys, chunk_keys, present = memory
        before, number = state
        energies = self._attention.energies(query, keys)
        noise = tf.random.stateless_normal(tf.shape(energies), self._seed + tf.stack([0, number]))
        energies = tf.where(present[:, tf.newaxis] > 0, energies + noise, MASKED)
        log_alpha = log_head_distribution(energies, before)
        chunk_energies = self._attention.chunkwise.energies(query, chunk_keys, normalised=False)
        alpha = tf.exp(log_alpha)
        weights = chunk_weights(alpha, chunk_energies, self._attention.chunk)
        return Attended(tf.matmul(weights, encoded), alpha, [log_alpha, number + 1])

    def through_labels(self, teacher: Teacher, memory: list[tf.Tensor]) -> TaughtLabels | None:
        """See `Attention`."""
        encoded, keys, chunk_keys, present = memory
        attention, head, chunkwise = self._attention, self._attention.monotonic, self._attention.chunkwise
        query = tf.concat([head.query.value, chunkwise.query.value], 1)
        noise = self._noise(tf.shape(teacher.embedded)[0], present) + attention.offset.value
        vector = tf.concat([attention.scale.value * head.vector(normalised=True), chunkwise.vector()], 0)[:, 0]
        kernel = functools.partial(TaughtMonotonic, chunk=attention.chunk)
        keys = tf.concat([keys, chunk_keys], -1)
        return through_labels(kernel, 3, teacher, query, encoded, present, keys, noise, vector)

    def _noise(self, labels: tf.Tensor, present: tf.Tensor) -> tf.Tensor:
        """Return what `attend` draws for each of so many labels, [labels, B, T]."""
        shape = tf.shape(present)

        def draw(number: tf.Tensor) -> tf.Tensor:
            return tf.random.stateless_normal(shape, self._seed + tf.stack([0, number]))

        noise: tf.Tensor = tf.map_fn(draw, tf.range(labels), fn_output_signature=tf.float32)
        return noise


class _Energy(keras.layers.Layer):
    """Additive energies v^T tanh(W s + V h + b), or those of v / |v|."""

    def __init__(self, size: int, query: int, inner: int, seed: int, name: str) -> None:
        super().__init__(name=name)
        glorot = [keras.initializers.GlorotUniform(seed=seed * 3 + i) for i in range(3)]
        self.query = self.add_weight(shape=(query, inner), initializer=glorot[0], name="query")
        self.key = self.add_weight(shape=(size, inner), initializer=glorot[1], name="key")
        self.bias = self.add_weight(shape=(inner,), initializer="zeros", name="bias")
        self.energy = self.add_weight(shape=(inner, 1), initializer=glorot[2], name="energy")
        self.built = True

    def keys(self, encoded: tf.Tensor) -> tf.Tensor:
        """Return V h + b, [..., inner]."""
        return tf.tensordot(encoded, self.key.value, 1) + self.bias.value

    def energies(self, query: tf.Tensor, keys: tf.Tensor, normalised: bool) -> tf.Tensor:
        """Return energies [..., N, T] of queries [..., N, n] at keys [..., T, inner]."""
        queries = tf.tensordot(query, self.query.value, 1)
        inner = tf.tanh(keys[..., tf.newaxis, :, :] + queries[..., tf.newaxis, :])
        return tf.tensordot(inner, self.vector(normalised), 1)[..., 0]

    def vector(self, normalised: bool = False) -> tf.Tensor:
        """Return v, or v / |v|, [inner, 1]."""
        energy = tf.convert_to_tensor(self.energy.value)
        return energy / tf.norm(energy) if normalised else energy


def log_head_distribution(energies: tf.Tensor, before: tf.Tensor) -> tf.Tensor:
    """Return log alpha_l, [..., T], of energies e_l and log alpha_{l-1}, [..., T].

    With c_t the product of 1 - p over the frames before t, the recursion's solution is (Raffel 2017, appendix C)

        alpha_{l,t} = p_{l,t} c_t  sum over k <= t of alpha_{l-1,k} / c_k.

    Both c and the quotients leave the range of float32 on long utterances; their logarithms do not, and the sum of
    exponentials is one of nothing above 1 after its maximum is taken out.
    """
    log_c = tf.cumsum(-tf.nn.softplus(energies), axis=-1, exclusive=True)
    return -tf.nn.softplus(-energies) + log_c + tf.math.cumulative_logsumexp(before - log_c, axis=-1)


def chunk_weights(alpha: tf.Tensor, energies: tf.Tensor, chunk: int) -> tf.Tensor:
    """Return beta_l, [..., T]: weights of frames; alpha_l: the head's distribution (Chiu 2018, section 2.3).

    beta_t is the sum over heads k from t to t + chunk - 1 of alpha_k exp(u_t) / (sum of exp(u) over the chunk of k).
    The chunk of one of the first heads has fewer frames.
    """
    shifted = [_shifted(energies, back, MASKED) for back in range(chunk)]
    within = alpha[..., tf.newaxis] * tf.nn.softmax(tf.stack(shifted, -1))  # [..., k, frames back from k]
    return tf.add_n([_shifted(within[..., back], -back, 0.0) for back in range(chunk)])


def _shifted(values: tf.Tensor, frames: int, fill: float) -> tf.Tensor:
    """Return values [..., T] so many frames later, or earlier."""
    if frames == 0:
        return values
    none = tf.zeros((values.shape.rank - 1, 2), tf.int32)
    padded = tf.pad(values, tf.concat([none, [[max(0, frames), max(0, -frames)]]], 0), constant_values=fill)
    return padded[..., :-frames] if frames > 0 else padded[..., -frames:]

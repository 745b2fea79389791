"""Attention: from a decoder's state to a weighted sum of encoded frames, with a state of its own.

An `Attention` is what distinguishes one label-synchronous family from another; `AttentionDecoder` drives any. Axes: B
utterances, K hypotheses of each (1 in training), T encoded frames. What depends on the utterance alone is computed once
(`memory`); what is carried from label to label is `state`, which a search reorders with its hypotheses.
"""

import abc
from typing import NamedTuple, Protocol

from sonorant.models.compiled_decoder import TaughtLabels, Teacher, through_labels
from sonorant.models.kernels import TaughtFeedback
from sonorant.tensorflow import keras, tf

__all__ = ["MASKED", "Attended", "Attending", "Attention", "FeedbackAttention"]

MASKED = -1e30
"""Energy of padding: finite, as a softmax over nothing but -inf is NaN."""


class Attended(NamedTuple):
    """Result for one label. context: Float32[B, K, size]; weights: Float32[B, K, T]; state: [B, K, ...] each."""

    context: tf.Tensor
    weights: tf.Tensor
    state: list[tf.Tensor]


class Attending(Protocol):
    """What a decoder drives: an `Attention`, or what one is in training."""

    def initial_state(self, memory: list[tf.Tensor], hypotheses: int | tf.Tensor) -> list[tf.Tensor]:
        """Return the state [B, hypotheses, ...] before the first label."""
        ...

    def attend(self, query: tf.Tensor, memory: list[tf.Tensor], state: list[tf.Tensor]) -> Attended:
        """Attend for one label of each hypothesis; query: [B, K, n], the decoder's hidden state."""
        ...

    def through_labels(self, teacher: Teacher, memory: list[tf.Tensor]) -> TaughtLabels | None:
        """Return what a kernel makes of all labels at once, K being 1, or None where there is no kernel."""
        ...


class Attention(keras.layers.Layer):
    """Contract of an attention. size: of an encoded frame."""

    @abc.abstractmethod
    def memory(self, encoded: tf.Tensor, lengths: tf.Tensor) -> list[tf.Tensor]:
        """Return what is computed once of encoded utterances [B, T, size] of so many frames: tensors [B, T, ...]."""

    @abc.abstractmethod
    def initial_state(self, memory: list[tf.Tensor], hypotheses: int | tf.Tensor) -> list[tf.Tensor]:
        """Return the state [B, hypotheses, ...] before the first label."""

    @abc.abstractmethod
    def attend(self, query: tf.Tensor, memory: list[tf.Tensor], state: list[tf.Tensor]) -> Attended:
        """Attend for one label of each hypothesis; query: [B, K, n], the decoder's hidden state."""

    def through_labels(self, teacher: Teacher, memory: list[tf.Tensor]) -> TaughtLabels | None:
        """Return what a kernel makes of all labels at once, K being 1, or None where there is no kernel."""
        del teacher, memory
        return None


class FeedbackAttention(Attention):
    """Additive attention with weight feedback (Zeyer 2018, section 3; Tu 2016 for the fertility).

        e_{l,t} = v^T tanh(W s_l + V h_t + b + u beta_{l-1,t}),   alpha_l = softmax over t of e_l,
        beta_{l,t} = beta_{l-1,t} + alpha_{l,t} sigmoid(w^T h_t) / 2,   c_l = sum over t of alpha_{l,t} h_t,

    where h_t is an encoded frame and s_l the decoder's hidden state. The feedback is that of the labels before: beta_l
    adds to the energies of l + 1. Padding has weight 0. state: beta, [B, K, T].
    """

    def __init__(self, size: int, query: int, inner: int, seed: int, name: str = "attention") -> None:
        super().__init__(name=name)
        glorot = [keras.initializers.GlorotUniform(seed=seed * 5 + i) for i in range(5)]
        self.query = self.add_weight(shape=(query, inner), initializer=glorot[0], name="query")
        self.key = self.add_weight(shape=(size, inner), initializer=glorot[1], name="key")
        self.bias = self.add_weight(shape=(inner,), initializer="zeros", name="bias")
        self.feedback = self.add_weight(shape=(1, inner), initializer=glorot[2], name="feedback")
        self.energy = self.add_weight(shape=(inner, 1), initializer=glorot[3], name="energy")
        self.fertility = self.add_weight(shape=(size, 1), initializer=glorot[4], name="fertility")
        self.built = True

    def memory(self, encoded: tf.Tensor, lengths: tf.Tensor) -> list[tf.Tensor]:
        """Return h [B, T, size], V h + b [B, T, inner], sigmoid(w^T h) / 2 and 1, or 0 in padding, [B, T]."""
        keys = tf.tensordot(encoded, self.key.value, 1) + self.bias.value
        fertility = tf.sigmoid(tf.tensordot(encoded, self.fertility.value, 1)[..., 0]) / 2
        return [encoded, keys, fertility, tf.sequence_mask(lengths, tf.shape(encoded)[1], tf.float32)]

    def initial_state(self, memory: list[tf.Tensor], hypotheses: int | tf.Tensor) -> list[tf.Tensor]:
        """See `Attention`: nothing attended to yet."""
        shape = tf.shape(memory[0])
        return [tf.zeros((shape[0], hypotheses, shape[1]))]

    def attend(self, query: tf.Tensor, memory: list[tf.Tensor], state: list[tf.Tensor]) -> Attended:
        """See `Attention`."""
        encoded, keys, fertility, present = memory
        (feedback,) = state
        queries = tf.tensordot(query, self.query.value, 1)
        inner = keys[:, tf.newaxis] + queries[:, :, tf.newaxis] + feedback[..., tf.newaxis] * self.feedback.value[0]
        energies = tf.tensordot(tf.tanh(inner), self.energy.value, 1)[..., 0]  # [B, K, T]
        weights = tf.nn.softmax(tf.where(present[:, tf.newaxis] > 0, energies, MASKED))
        after = feedback + weights * fertility[:, tf.newaxis]
        return Attended(tf.matmul(weights, encoded), weights, [after])

    def through_labels(self, teacher: Teacher, memory: list[tf.Tensor]) -> TaughtLabels | None:
        """See `Attention`."""
        encoded, keys, fertility, present = memory
        query = tf.convert_to_tensor(self.query.value)
        vectors = self.energy.value[:, 0], self.feedback.value[0]
        return through_labels(TaughtFeedback, 2, teacher, query, encoded, present, keys, fertility, *vectors)

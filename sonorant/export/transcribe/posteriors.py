"""Log-probabilities of whole recordings, by the signatures that recognize; as `ExportedModel` computes by graphs."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from sonorant.export.fixed_batch import BATCH
from sonorant.models.framing import Framing
from sonorant.tensorflow import tf

__all__ = ["Function", "TensorPosteriors", "stream_posteriors", "whole_posteriors"]

Function = Callable[..., Mapping[str, tf.Tensor]]
"""A signature: tensors by name to tensors by name."""


class TensorPosteriors(NamedTuple):
    """rows: recordings in a call: always so many, so that none depends on the others (see `fixed_batch`).

    of: vectors Float32[rows, most vectors, bins], of which Int32[rows] count, to log-probabilities Float32[rows, most
    frames, symbols], one frame at least, of which Int32[rows] count.
    """

    rows: int
    of: Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


def stream_posteriors(start: Function, stream: Function, framing: Framing) -> TensorPosteriors:
    """Return those of a model with the signatures `start` and `stream`; their arguments are in the order of names."""
    assert framing.at_once == 1, "a frame a step, as CTC has: `tail` is all the padding that ends the last window"

    def of(vectors: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        first = dict(start(tf.constant(BATCH)))
        padding = first.pop("padding", tf.zeros([BATCH, 1]))
        most = tf.maximum(tf.reduce_max(lengths), _fewest(framing)) + framing.tail
        counts = (tf.range(most) < lengths[:, None])[:, :, None]
        features = tf.where(counts, _resized(vectors, most), padding[:, None])
        log_probs = stream(features, *(first[f"state_{i}"] for i in range(len(first))))["log_probs"]
        return tf.ensure_shape(log_probs[:, framing.lead :], [BATCH, None, None]), _frames(framing, lengths)

    return TensorPosteriors(BATCH, of)


def whole_posteriors(whole: Function, framing: Framing) -> TensorPosteriors:
    """Return those of a model with the signature `whole`."""

    def of(vectors: tf.Tensor, lengths: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        most = tf.maximum(lengths[0], _fewest(framing))
        outputs = whole(_resized(vectors, most), most[None])
        return tf.ensure_shape(outputs["log_probs"], [1, None, None]), _frames(framing, lengths)

    return TensorPosteriors(1, of)


def _fewest(framing: Framing) -> int:
    """Return the fewest vectors that have a frame."""
    return max(1, (framing.lead + 1) * framing.block - framing.tail)


def _frames(framing: Framing, vectors: tf.Tensor) -> tf.Tensor:
    return tf.maximum(0, (vectors + framing.tail) // framing.block - framing.lead)


def _resized(vectors: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Return the first `count` vectors, behind them zeros if they are fewer."""
    return tf.pad(vectors, [[0, 0], [0, tf.maximum(0, count - tf.shape(vectors)[1])], [0, 0]])[:, :count]

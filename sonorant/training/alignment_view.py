"""How a model aligns the labels of an utterance with its frames: for plots, of one utterance of dev."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.arrays import Features
from sonorant.models.family import Inputs, Model
from sonorant.tensorflow import graph_function, tf
from sonorant.text.units import Units

__all__ = ["Alignment", "alignment_function", "is_plottable"]

_END = "</s>"
_MOST_CELLS = 20_000  # labels x frames, of a plot

Align = Callable[[Features, Sequence[int]], "Alignment"]


class Alignment(NamedTuple):
    """weights: Float32[labels, frames], 0 to 1; labels: as text, with the end of a label-synchronous family.

    A label's weights are its attention in a label-synchronous family, else the posterior of its unit at each frame.
    """

    weights: NDArray[np.float32]
    labels: tuple[str, ...]


def alignment_function(model: Model, units: Units) -> Align:
    """Return a function of features Float32[T, bins] and the labels of their transcript: how the model aligns them."""

    def weights(features: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
        lengths = tf.shape(features)[1:2], tf.shape(labels)[1:2]
        outputs = model.outputs(Inputs(features, lengths[0], labels, lengths[1]))
        if outputs.attention is not None:
            return outputs.attention[0]
        assert outputs.frames is not None, "a family of neither labels nor frames"
        return tf.transpose(tf.exp(tf.gather(outputs.frames[0, : outputs.lengths[0]], labels[0], axis=1)))

    signature = [tf.TensorSpec([1, None, model.bins], tf.float32), tf.TensorSpec([1, None], tf.int32)]
    compute = graph_function(weights, input_signature=signature)

    def align(features: Features, labels: Sequence[int]) -> Alignment:
        found = np.asarray(compute(features[None], np.array([labels], np.int32)))
        names = (*(units.symbols[label] for label in labels), _END)
        return Alignment(found, names[: len(found)])

    return align


def is_plottable(frames: int, labels: int) -> bool:
    """Return whether an utterance of so many frames and labels is small enough to be plotted."""
    return 0 < frames * labels <= _MOST_CELLS

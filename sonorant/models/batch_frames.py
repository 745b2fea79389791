"""The frames of a frame-synchronous model in memory, over batches of features, such as during its training."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sonorant.models.family import Inputs, Model
from sonorant.tensorflow import graph_function, tf

__all__ = ["BatchFrames", "batch_frames", "features_signature"]

BatchFrames: TypeAlias = Callable[[NDArray[np.float32], NDArray[np.int32]], list[NDArray[np.float32]]]
"""Features Float32[B, T, bins] and their lengths Int32[B] in; log-probabilities [frames, symbols] of each one out."""


def batch_frames(model: Model) -> BatchFrames:
    """Return the model's frames without dropout, with its weights at the time of each call."""
    predict = graph_function(
        lambda features, lengths: model.outputs(Inputs(features, lengths)), input_signature=features_signature(model)
    )

    def frames_of(features: NDArray[np.float32], lengths: NDArray[np.int32]) -> list[NDArray[np.float32]]:
        outputs = predict(features, lengths)
        encoded = zip(outputs.frames.numpy(), outputs.lengths.numpy(), strict=True)
        return [frames[:count] for frames, count in encoded]

    return frames_of


def features_signature(model: Model) -> list[tf.TensorSpec]:
    """Return the specs of features and lengths that fit batches of any size."""
    return [tf.TensorSpec([None, None, model.bins], tf.float32), tf.TensorSpec([None], tf.int32)]

"""Padded batches."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.tensorflow import tf
from sonorant.training.alignment import UNKNOWN
from sonorant.training.pool import Labelled

__all__ = ["Batch", "BatchTensors", "collate", "empty_tensors"]


class BatchTensors(NamedTuple):
    """What the step computes on.

    features: Float32[B, T, bins], zeros after each one's length; lengths: Int32[B]; labels: Int32[B, L], padded
    with zeros; label_lengths: Int32[B]; targets: Int32[B, T], see `alignment`; weights: Float32[B], 1 for an
    utterance and 0 for a placeholder.
    """

    features: tf.Tensor
    lengths: tf.Tensor
    labels: tf.Tensor
    label_lengths: tf.Tensor
    targets: tf.Tensor
    weights: tf.Tensor

    @classmethod
    def signature(cls, bins: int) -> list[tf.TensorSpec]:
        """Return the specs that fit batches of any size, so that nothing is traced twice."""
        return [
            tf.TensorSpec([None, None, bins], tf.float32),
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None, None], tf.int32),
            tf.TensorSpec([None], tf.int32),
            tf.TensorSpec([None, None], tf.int32),
            tf.TensorSpec([None], tf.float32),
        ]


@dataclass(frozen=True)
class Batch:
    """One rank's share of a step, claimed at the ledger.

    number: among the rank's batches of the epoch; vectors: B x T, of which `padded` are padding.
    """

    epoch: int
    number: int
    ordinals: tuple[int, ...]
    utterances: tuple[str, ...]
    audio_s: float
    vectors: int
    padded: int
    tensors: BatchTensors


def collate(epoch: int, number: int, items: Sequence[Labelled]) -> Batch:
    """Pad at least one example to a batch."""
    lengths = np.array([item.frames for item in items], np.int32)
    label_lengths = np.array([len(item.labels) for item in items], np.int32)
    first = items[0].features
    features = np.zeros((len(items), lengths.max(), first.shape[1]), np.float32)
    labels = np.zeros((len(items), label_lengths.max()), np.int32)
    targets = np.full((len(items), lengths.max()), UNKNOWN, np.int32)
    for i, item in enumerate(items):
        features[i, : item.frames] = item.features
        labels[i, : len(item.labels)] = item.labels
        targets[i, : item.frames] = item.targets
    return Batch(
        epoch=epoch,
        number=number,
        ordinals=tuple(item.ordinal for item in items),
        utterances=tuple(item.utterance for item in items),
        audio_s=sum(item.duration_s for item in items),
        vectors=len(items) * int(lengths.max()),
        padded=int((lengths.max() - lengths).sum()),
        tensors=_tensors(features, lengths, labels, label_lengths, targets, np.ones(len(items), np.float32)),
    )


def empty_tensors(bins: int) -> BatchTensors:
    """Return what a rank without a batch brings to a step: one placeholder of weight 0."""
    one, unknown = np.ones(1, np.int32), np.full((1, 1), UNKNOWN, np.int32)
    features, labels, weights = np.zeros((1, 1, bins), np.float32), np.zeros((1, 1), np.int32), np.zeros(1, np.float32)
    return _tensors(features, one, labels, one, unknown, weights)


def _tensors(*arrays: NDArray[Any]) -> BatchTensors:
    return BatchTensors(*(tf.convert_to_tensor(a) for a in arrays))

"""Padded batches."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sonorant.arrays import IntArray
from sonorant.objectives.objective import BatchTensors, Padded
from sonorant.tensorflow import tf
from sonorant.training.pool import Labelled

__all__ = ["Batch", "Layout", "batch_signature", "collate", "empty_tensors"]


@dataclass(frozen=True)
class Batch:
    """One rank's share of a step, claimed at the ledger.

    number: among the rank's batches of the epoch; vectors: B x T, of which `padded` are padding. tensors: as the step
    takes them, for truncated unrolling with an axis of chunks (`sonorant.training.chunks`).
    """

    epoch: int
    number: int
    ordinals: tuple[int, ...]
    utterances: tuple[str, ...]
    audio_s: float
    vectors: int
    padded: int
    tensors: BatchTensors


Layout: TypeAlias = Callable[[int, int, Sequence[Labelled]], Batch]  # epoch, number and its claimed examples


def batch_signature(bins: int, targets: Iterable[str]) -> BatchTensors:
    """Return the specs that fit batches of any size with these targets, so that nothing is traced twice."""
    padded = Padded(tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32))
    return BatchTensors(
        features=tf.TensorSpec([None, None, bins], tf.float32),
        lengths=tf.TensorSpec([None], tf.int32),
        targets=dict.fromkeys(targets, padded),
        weights=tf.TensorSpec([None], tf.float32),
    )


def collate(epoch: int, number: int, items: Sequence[Labelled], padding: Mapping[str, int]) -> Batch:
    """Pad at least one example to a batch; padding: the value for each target, by its name."""
    lengths = np.array([item.frames for item in items], np.int32)
    features = np.zeros((len(items), lengths.max(), items[0].features.shape[1]), np.float32)
    for i, item in enumerate(items):
        features[i, : item.frames] = item.features
    return Batch(
        epoch=epoch,
        number=number,
        ordinals=tuple(item.ordinal for item in items),
        utterances=tuple(item.utterance for item in items),
        audio_s=sum(item.duration_s for item in items),
        vectors=len(items) * int(lengths.max()),
        padded=int((lengths.max() - lengths).sum()),
        tensors=BatchTensors(
            features=tf.convert_to_tensor(features),
            lengths=tf.convert_to_tensor(lengths),
            targets={name: _pad([item.targets[name] for item in items], value) for name, value in padding.items()},
            weights=tf.ones(len(items)),
        ),
    )


def empty_tensors(bins: int, padding: Mapping[str, int]) -> BatchTensors:
    """Return the batch of a rank that has none: one placeholder of weight 0."""
    one = tf.ones(1, tf.int32)
    targets = {name: Padded(tf.fill([1, 1], value), one) for name, value in padding.items()}
    return BatchTensors(tf.zeros((1, 1, bins)), one, targets, tf.zeros(1))


def _pad(rows: Sequence[IntArray], value: int) -> Padded:
    lengths = np.array([len(row) for row in rows], np.int32)
    values = np.full((len(rows), lengths.max()), value, np.int32)
    for i, row in enumerate(rows):
        values[i, : len(row)] = row
    return Padded(tf.convert_to_tensor(values), tf.convert_to_tensor(lengths))

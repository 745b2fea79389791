"""Connectionist temporal classification (Graves 2006)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.features.section import FeaturesRecipe
from sonorant.models.family import Inputs, Model, Outputs
from sonorant.models.framing import Framing
from sonorant.objectives.alignment import UNKNOWN, alignment_loss, alignment_weight, frame_targets
from sonorant.objectives.objective import BatchSearch, BatchTensors, Losses, Padded, SoftAlignment, Targets
from sonorant.recipe.training import TrainingRecipe
from sonorant.tensorflow import tf
from sonorant.text.units import Units

__all__ = ["CtcObjective", "check_labels", "ctc_loss", "ctc_posteriors", "frames_needed"]


_MANY = 512  # units; with a thousand, the loss of an utterance's own takes two thirds of the time
_NEVER = -1e9  # logarithm of probability 0
_LEAST = 1e-30  # where rounding leaves others nothing


class CtcObjective:
    """CTC on units and, while its weight lasts, a frame-wise loss towards the ends of units in the corpus' words.

    Needs a model with `frames` whose blank follows the units. Reports "loss", CTC's alone.
    """

    padding: ClassVar = {"labels": 0, "frames": UNKNOWN}
    n_best: BatchSearch | None = None
    reports = ("loss",)

    def __init__(self, training: TrainingRecipe, units: Units, features: FeaturesRecipe, framing: Framing) -> None:
        self._framing = framing
        self._training = training
        self._units = units
        self._features = features

    def targets(self, example: Example, frames: int) -> Targets:
        """Return "labels", the numbers of the units, and "frames", the unit due at each frame (see `alignment`)."""
        labels = self._units.labels(example.text)
        encoded = self._framing.frames(frames)
        check_labels(labels, frames, encoded)
        vectors = self._framing.vectors(encoded)
        due = frame_targets(example.words, labels, self._units, vectors, self._features)
        return {"labels": np.array(labels), "frames": due}

    def schedule(self, step: int) -> tuple[float, ...]:
        """Return the weight of the frame-wise loss."""
        return (alignment_weight(step, self._training),)

    def losses(self, model: Model, batch: BatchTensors, schedule: tf.Tensor, dropout_seed: tf.Tensor) -> Losses:
        """See `Objective`."""
        outputs = model.outputs(Inputs(batch.features, batch.lengths, *batch.targets["labels"]), dropout_seed)
        return self.losses_of(outputs, batch, schedule)

    def losses_of(self, outputs: Outputs, batch: BatchTensors, schedule: tf.Tensor) -> Losses:
        """Return the losses of a model's outputs for a batch; see `Objective.losses`."""
        loss = ctc_loss(outputs.frames, outputs.lengths, *batch.targets["labels"])
        guided = loss
        if self._training.alignment_weight:
            guided += schedule[0] * alignment_loss(outputs.frames, batch.targets["frames"].values)
        return Losses(guided, {"loss": loss})

    def soft_alignment(self, outputs: Outputs, targets: Mapping[str, Padded], schedule: tf.Tensor) -> SoftAlignment:
        """See `ByPaths`: CTC's posteriors and, while its weight lasts, the frame-wise loss' targets."""
        loss, occupancies = ctc_posteriors(outputs.frames, outputs.lengths, *targets["labels"])
        if self._training.alignment_weight:
            occupancies += schedule[0] * tf.one_hot(targets["frames"].values, self._units.size + 1)  # of UNKNOWN: zeros
        return SoftAlignment(occupancies, {"loss": loss})


def ctc_loss(log_probs: tf.Tensor, lengths: tf.Tensor, labels: tf.Tensor, label_lengths: tf.Tensor) -> tf.Tensor:
    """Return Float32[B]: minus the log-probability of each label sequence, summed over its alignments.

    log_probs: [B, T, units + 1], blank last; lengths: Int32[B]; labels: Int32[B, L], padded with anything;
    label_lengths: Int32[B]. More labels than frames have loss 0; without blanks between equal ones, infinity; neither
    has a gradient.

    The kernel is TensorFlow's sparse one, of CPUs, wherever the model is: of an LSTM-CTC's step on an H100 it made 8.7
    times as many a second as `tf.nn.ctc_loss` of dense labels, which a GPU has. It applies a softmax of its own, which
    leaves log-probabilities as they are. Of many units it is given those that an utterance has.
    """
    present = tf.sequence_mask(label_lengths, tf.shape(labels)[1])
    if log_probs.shape[2] > _MANY:
        log_probs, labels = _of_own_units(log_probs, labels, present)
    loss, _ = _sparse_ctc(
        tf.transpose(log_probs, (1, 0, 2)),
        tf.where(present),
        tf.boolean_mask(labels, present),
        lengths,
    )
    return loss


def ctc_posteriors(
    log_probs: tf.Tensor, lengths: tf.Tensor, labels: tf.Tensor, label_lengths: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return `ctc_loss`, and Float32[B, T, units + 1]: each symbol's posterior at each frame, over all alignments.

    By Graves 2006, Eq. 16, the gradient of the loss by logits is what the model says less this posterior. Without an
    alignment, and behind the lengths, it is what the model says.
    """
    with tf.GradientTape() as tape:
        tape.watch(log_probs)
        loss = ctc_loss(tf.nn.log_softmax(log_probs), lengths, labels, label_lengths)
    return loss, tf.exp(log_probs) - tape.gradient(loss, log_probs)


def _of_own_units(log_probs: tf.Tensor, labels: tf.Tensor, present: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Return log-probabilities [B, T, L + 2] of an utterance's units, of all others together, and of the blank.

    And the labels in that numbering: of equal ones the place of the first, the other places having probability 0.
    The gradient by the log-probabilities is minus the posterior; by logits it is what it is of all units.
    """
    labels, count = tf.convert_to_tensor(labels), tf.shape(labels)[1]
    same = (labels[:, :, tf.newaxis] == labels[:, tf.newaxis, :]) & present[:, tf.newaxis, :]
    first = tf.argmax(same, 2, output_type=tf.int32)
    is_first = (first == tf.range(count)) & present
    units = tf.gather(log_probs, tf.where(present, labels, 0), axis=2, batch_dims=1)
    units = tf.where(is_first[:, tf.newaxis], units, _NEVER)
    blank = log_probs[:, :, -1:]
    others = 1 - tf.reduce_sum(tf.exp(units), 2, keepdims=True) - tf.exp(blank)
    return tf.concat([units, tf.math.log(tf.maximum(others, _LEAST)), blank], 2), first


def _sparse_ctc(
    logits: tf.Tensor, label_indices: tf.Tensor, label_values: tf.Tensor, lengths: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    return tuple(  # (loss [B], gradient [T, B, units + 1]); the op's registered gradient uses the second
        tf.raw_ops.CTCLoss(
            inputs=logits,
            labels_indices=label_indices,
            labels_values=label_values,
            sequence_length=lengths,
            preprocess_collapse_repeated=False,
            ctc_merge_repeated=True,
            ignore_longer_outputs_than_inputs=True,
        )
    )


def check_labels(labels: Sequence[int], vectors: int, frames: int) -> None:
    """Raise RejectedExample if no path of so many encoded frames, made of so many vectors, spells `labels`."""
    if not labels:
        raise RejectedExample("empty transcript: there is nothing to learn from it; expected at least one unit")
    if frames < (needed := frames_needed(labels)):
        made = "" if frames == vectors else f", which make {frames} encoded frames,"
        raise RejectedExample(
            f"{vectors} feature vectors{made} for {len(labels)} units: CTC needs at least {needed}; "
            "check the transcript, or lower features.stride"
        )


def frames_needed(labels: Sequence[int]) -> int:
    """Return the fewest frames that hold `labels`: one each, and a blank between equal neighbours."""
    return len(labels) + sum(a == b for a, b in pairwise(labels))

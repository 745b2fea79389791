"""Connectionist temporal classification (Graves 2006)."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sonorant.ctc import kernels
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.features.section import FeaturesRecipe
from sonorant.models.family import Inputs, Model, Outputs
from sonorant.models.framing import Framing
from sonorant.models.kernel_calls import aligned_array, call_kernel, kernel_threads
from sonorant.objectives.alignment import UNKNOWN, alignment_loss, alignment_weight, frame_targets
from sonorant.objectives.objective import BatchSearch, BatchTensors, Losses, Padded, SoftAlignment, Targets
from sonorant.recipe.training import TrainingRecipe
from sonorant.tensorflow import custom_gradient, tf
from sonorant.text.units import Units

__all__ = ["CtcObjective", "check_labels", "ctc_loss", "ctc_posteriors", "frames_needed"]

_Floats = NDArray[np.float32]
_Integers = NDArray[np.int32]


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

    The kernel is ours (`sonorant/ctc/ctc.hpp`), of CPUs, wherever the model is. It takes less CPU time than
    TensorFlow's sparse one, by which a step of an LSTM-CTC on an H100 made 8.7 times as many a second as by
    `tf.nn.ctc_loss` of dense labels, which a GPU has.
    """
    numbers = (tf.cast(one, tf.int32) for one in (lengths, labels, label_lengths))
    return _compiled_loss(tf.convert_to_tensor(log_probs), *numbers)


@custom_gradient
def _compiled_loss(
    log_probs: tf.Tensor, *numbers: tf.Tensor
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor | None, ...]]]:
    """Return `ctc_loss`; its gradient by a log-probability is minus the posterior of the symbol at the frame."""
    losses, by_log_probs = call_kernel(_losses, [log_probs, *numbers], [tf.float32] * 2)
    losses.set_shape(log_probs.shape[:1])
    by_log_probs.set_shape(log_probs.shape)
    return losses, lambda d_losses: (d_losses[:, tf.newaxis, tf.newaxis] * by_log_probs, None, None, None)


def _losses(
    log_probs: _Floats, lengths: _Integers, labels: _Integers, label_lengths: _Integers
) -> tuple[_Floats, _Floats]:
    losses, by_log_probs = aligned_array(len(log_probs)), aligned_array(*log_probs.shape)
    kernels.ctc_loss(log_probs, lengths, labels, label_lengths, kernel_threads(), losses, by_log_probs)
    return losses, by_log_probs


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

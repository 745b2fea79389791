"""Cross-entropy of the next label, given those before it, with CTC on the encoded frames beside it."""

import numpy as np

from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.features.section import FeaturesRecipe
from sonorant.models.family import Inputs, Model
from sonorant.models.framing import Framing
from sonorant.objectives.ctc import CtcObjective
from sonorant.objectives.head_alignment import ctc_spikes, delayed, head_alignment_loss
from sonorant.objectives.objective import BatchSearch, BatchTensors, Losses, Targets
from sonorant.recipe.training import TrainingRecipe
from sonorant.tensorflow import tf
from sonorant.text.units import Units

__all__ = ["LabelCrossEntropy", "label_cross_entropy", "label_error", "quantity_loss", "with_end"]


class LabelCrossEntropy:
    """Teacher forcing, with scheduled sampling (Bengio 2015), label smoothing and joint CTC (Kim 2017) as options.

    Minimises (1 - w) CE + w CTC + q QUA + h HEAD of each utterance, where w is `training.ctc_weight`, q
    `quantity_weight`, h `head_weight`, or 0 in the first `head_after_steps`, and CE is summed over labels; CTC is that
    of `CtcObjective`, guided if the recipe says so, QUA `quantity_loss`, and HEAD `head_alignment_loss` at CTC's
    spikes, or `head_delay_frames` later.
    Needs a model with `labels`, with `frames` if w is not 0, and `attention` if q or h is not. Reports "loss", the
    cross-entropy without smoothing; "label_error", the share of labels, the end among them, that are not the most
    probable; "ctc", "quantity" and "heads" if w, q and h are not 0.
    """

    n_best: BatchSearch | None = None

    def __init__(self, training: TrainingRecipe, units: Units, features: FeaturesRecipe, framing: Framing) -> None:
        self._training = training
        self._units = units
        self._framing = framing
        self._ctc = CtcObjective(training, units, features, framing) if training.ctc_weight else None
        self.padding = {"labels": 0} if self._ctc is None else self._ctc.padding
        optional = {"ctc": training.ctc_weight, "quantity": training.quantity_weight, "heads": training.head_weight}
        self.reports = ("loss", "label_error", *(name for name, weight in optional.items() if weight))

    def targets(self, example: Example, frames: int) -> Targets:
        """Return "labels", the numbers of the units, and what CTC needs."""
        if self._ctc is not None:
            return self._ctc.targets(example, frames)
        labels = self._units.labels(example.text)
        if not labels:
            raise RejectedExample("empty transcript: there is nothing to learn from it; expected at least one unit")
        if (encoded := self._framing.frames(frames)) < len(labels):
            raise RejectedExample(
                f"{frames} feature vectors, which make {encoded} encoded frames, for {len(labels)} units: expected at "
                "least as many; check the transcript, or lower model.pooling or features.stride"
            )
        return {"labels": np.array(labels)}

    def schedule(self, step: int) -> tuple[float, ...]:
        """Return the share of labels before each that are drawn from the model; with CTC h and its schedule too."""
        share = self._training.sampling * min(1.0, step / self._training.sampling_steps)
        if self._ctc is None:
            return (share,)
        heads = self._training.head_weight if step >= self._training.head_after_steps else 0.0
        return (share, heads, *self._ctc.schedule(step))

    def losses(self, model: Model, batch: BatchTensors, schedule: tf.Tensor, dropout_seed: tf.Tensor) -> Losses:
        """See `Objective`."""
        labels, lengths = batch.targets["labels"]
        sampling = schedule[0] if self._training.sampling else None
        outputs = model.outputs(Inputs(batch.features, batch.lengths, labels, lengths, sampling), dropout_seed)
        due = with_end(labels, lengths, model.symbols.end)
        loss = label_cross_entropy(outputs.labels, due, lengths + 1)
        minimised = loss
        if self._training.label_smoothing:
            minimised = label_cross_entropy(outputs.labels, due, lengths + 1, self._training.label_smoothing)
        reported = {"loss": loss, "label_error": label_error(outputs.labels, due, lengths + 1)}
        if self._ctc is not None:
            ctc, weight = self._ctc.losses_of(outputs, batch, schedule[2:]), self._training.ctc_weight
            minimised = (1 - weight) * minimised + weight * ctc.minimised
            reported["ctc"] = ctc.reported["loss"]
        if self._training.quantity_weight:
            # The head of the end is to stop at no frame where heads are aligned, at once or after some steps.
            attending = lengths if self._training.head_weight else lengths + 1
            reported["quantity"] = quantity_loss(outputs.attention, attending)
            minimised += self._training.quantity_weight * reported["quantity"]
        if self._training.head_weight:
            spikes = ctc_spikes(outputs.frames, outputs.lengths, labels, lengths)
            frames = delayed(spikes, self._training.head_delay_frames, outputs.lengths)
            reported["heads"] = head_alignment_loss(outputs.attention, frames, lengths)
            minimised += schedule[1] * reported["heads"]
        return Losses(minimised, reported)


def label_cross_entropy(
    log_probs: tf.Tensor, labels: tf.Tensor, lengths: tf.Tensor, smoothing: float = 0.0
) -> tf.Tensor:
    """Return Float32[B]: minus the log-probability of the labels, summed over the first `lengths`.

    log_probs: [B, L, symbols]; labels: Int32[B, L]. smoothing: probability that the targets spread evenly over all
    symbols (Szegedy 2016, section 7).
    """
    present = tf.sequence_mask(lengths, tf.shape(labels)[1])
    chosen = tf.gather(log_probs, labels, batch_dims=2)
    if smoothing:
        chosen = (1 - smoothing) * chosen + smoothing * tf.reduce_mean(log_probs, -1)
    return -tf.reduce_sum(tf.where(present, chosen, 0.0), 1)


def quantity_loss(attention: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Return Float32[B]: |number of labels - sum of their attention weights| (quantity loss of Dong 2020).

    attention: [B, L, T], of which the first `lengths` labels count. Where heads go past the last frame, weights are
    lost.
    """
    present = tf.sequence_mask(lengths, tf.shape(attention)[1])
    attended = tf.where(present, tf.reduce_sum(attention, -1), 0.0)
    return tf.abs(tf.cast(lengths, tf.float32) - tf.reduce_sum(attended, 1))


def label_error(log_probs: tf.Tensor, labels: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Return Float32[B]: share of the first `lengths` labels that are not the most probable."""
    wrong = tf.argmax(log_probs, -1, tf.int32) != labels
    counted = wrong & tf.sequence_mask(lengths, tf.shape(labels)[1])
    return tf.reduce_sum(tf.cast(counted, tf.float32), 1) / tf.cast(lengths, tf.float32)


def with_end(labels: tf.Tensor, lengths: tf.Tensor, end: int | None) -> tf.Tensor:
    """Return Int32[B, L + 1]: the labels, and the end from each one's length on."""
    present = tf.sequence_mask(lengths, tf.shape(labels)[1])
    return tf.pad(tf.where(present, labels, end), ((0, 0), (0, 1)), constant_values=end)

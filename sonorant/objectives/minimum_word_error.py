"""Minimum word error rate training on N-best lists (Prabhavalkar 2018, sections 3.2 and 3.3)."""

from collections.abc import Mapping

from sonorant.delivery.example import Example
from sonorant.models.family import Inputs, Model
from sonorant.objectives.ctc import ctc_loss
from sonorant.objectives.label_cross_entropy import label_cross_entropy, with_end
from sonorant.objectives.n_best import NBest
from sonorant.objectives.objective import BatchSearch, BatchTensors, Losses, Objective, Padded, Targets
from sonorant.recipe.training import TrainingRecipe
from sonorant.tensorflow import tf
from sonorant.text.units import Units

__all__ = ["MinimumWordError", "expected_errors"]

_IMPOSSIBLE = -1e30  # a log-probability whose exponential is 0, and whose gradient is a number
_WITHOUT_PATH = -1e20  # the same of a hypothesis, which is not as impossible as one that is missing from a list


class MinimumWordError:
    """Expected word errors of the N-best list, and the loss of another objective with a small weight (Eq. 8 and 9).

    Minimises, for each utterance,

        sum over i of P(y_i) [W(y_i) - mean of W] + w x loss of `base`,

    where W counts the errors on words, and P is the model's probability of the hypotheses, renormalised over the list.
    w is `training.mwer_base_weight`. Training starts from weights that were trained by `base`: lists of others offer no
    choice. Reports what `base` reports, and "word_errors", the sum over i of P(y_i) W(y_i).
    """

    def __init__(
        self, base: Objective, training: TrainingRecipe, units: Units, end_threshold: float | None = None
    ) -> None:
        """end_threshold: of the search for the list, by label; see `decoding.end_threshold`."""
        self._base = base
        self._weight = training.mwer_base_weight
        self._size = training.mwer_hypotheses
        self.n_best: BatchSearch | None = NBest(units, training.mwer_hypotheses, end_threshold)

    @property
    def padding(self) -> Mapping[str, int]:
        """Those of the other objective."""
        return self._base.padding

    @property
    def reports(self) -> tuple[str, ...]:
        """See the class."""
        return (*self._base.reports, "word_errors")

    def targets(self, example: Example, frames: int) -> Targets:
        """Return those of the other objective, "labels" among them."""
        return self._base.targets(example, frames)

    def schedule(self, step: int) -> tuple[float, ...]:
        """Return the other objective's."""
        return self._base.schedule(step)

    def losses(self, model: Model, batch: BatchTensors, schedule: tf.Tensor, dropout_seed: tf.Tensor) -> Losses:
        """See `Objective`."""
        hypotheses, errors = (batch.targets[name] for name in NBest.targets)
        flat = _log_probs(model, batch, hypotheses, self._size, dropout_seed)
        log_probs = tf.reshape(flat, tf.shape(errors.values))
        minimised, expected = expected_errors(log_probs, errors)
        base = self._base.losses(model, batch, schedule, dropout_seed)
        return Losses(minimised + self._weight * base.minimised, base.reported | {"word_errors": expected})


def expected_errors(log_probs: tf.Tensor, errors: Padded) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the expected errors Float32[B], less the mean of the list and as they are (Prabhavalkar 2018, Eq. 8).

    log_probs: Float32[B, N] of the hypotheses. The mean changes no gradient of whole expectations, as probabilities sum
    to 1; with it, what is minimised is around 0. An utterance without hypotheses has 0, and no gradient.
    """
    present = tf.sequence_mask(errors.lengths, tf.shape(log_probs)[1])
    counts = tf.where(present, tf.cast(errors.values, tf.float32), 0.0)
    probabilities = tf.where(present, tf.nn.softmax(tf.where(present, log_probs, _IMPOSSIBLE)), 0.0)
    mean = tf.reduce_sum(counts, 1) / tf.maximum(1.0, tf.cast(errors.lengths, tf.float32))
    expected = tf.reduce_sum(probabilities * counts, 1)
    return expected - mean * tf.reduce_sum(probabilities, 1), expected


def _log_probs(model: Model, batch: BatchTensors, hypotheses: Padded, size: int, dropout_seed: tf.Tensor) -> tf.Tensor:
    """Return log P(y | x) of the hypotheses, Float32[B * size], as in training: with dropout."""
    labels, lengths = hypotheses
    if model.symbols.end is None:
        outputs = model.outputs(Inputs(batch.features, batch.lengths), dropout_seed)
        return _ctc_log_probs(tf.repeat(outputs.frames, size, 0), tf.repeat(outputs.lengths, size), labels, lengths)
    outputs = model.outputs(Inputs(batch.features, batch.lengths, labels, lengths, hypotheses=size), dropout_seed)
    return -label_cross_entropy(outputs.labels, with_end(labels, lengths, model.symbols.end), lengths + 1)


def _ctc_log_probs(frames: tf.Tensor, counts: tf.Tensor, labels: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Return log P(y | x) of label sequences; one that no path spells, such as a placeholder, has probability 0."""
    spelled = -ctc_loss(frames, counts, labels, lengths)
    has_path = (lengths <= counts) & ~tf.math.is_inf(spelled)
    return tf.where(has_path, spelled, _WITHOUT_PATH)

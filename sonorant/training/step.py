"""One optimizer step of the whole gang: exact for uneven ranks, the same decision on all of them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sonorant.models.family import Model
from sonorant.objectives.objective import BatchTensors, Objective
from sonorant.recipe.schema import Recipe
from sonorant.tensorflow import tf
from sonorant.training.average import WeightAverage
from sonorant.training.batch import batch_signature
from sonorant.training.checkpoints import Checkpoint
from sonorant.training.collective import Collective, LostRank
from sonorant.training.initial_weights import InitialWeights
from sonorant.training.optimizer import build_optimizer, check_state
from sonorant.training.schedule import learning_rate

__all__ = ["Notes", "StepResult", "TrainStep"]


class Notes(NamedTuple):
    """A rank's notes, summed over ranks with the gradients, so that all ranks decide alike.

    drained: 1 if the rank has no further batch of this epoch; late: 1 if its batch has not arrived, and the step must
    wait for it; time_over: 1 if time is exhausted; terminated: 1 if it got a signal; spoiled: 1 if too many examples
    were rejected; audio_s: audio in its batch; vectors: B x T, of which `padded` are
    padding.
    """

    drained: float = 0.0
    late: float = 0.0
    time_over: float = 0.0
    terminated: float = 0.0
    spoiled: float = 0.0
    audio_s: float = 0.0
    vectors: float = 0.0
    padded: float = 0.0


@dataclass(frozen=True)
class StepResult:
    """The outcome of a step, the same on every rank.

    figures: the objective's, each a mean over all utterances, the watched one first;
    gradient_norm: before clipping; examples: in all ranks' batches, 0 if none had any, or one was late and no step was
    made; applied: false if the loss or the gradient was not finite, and nothing changed.
    """

    figures: dict[str, float]
    gradient_norm: float
    examples: int
    applied: bool
    notes: Notes

    @property
    def loss(self) -> float:
        """The figure that training watches."""
        return next(iter(self.figures.values()))


class TrainStep(tf.Module):
    """Gradients are sums over utterances, summed over ranks and divided by the global number of utterances.

    So a short batch, or a rank without one, gives the same mean as one rank with all the examples.
    """

    def __init__(self, model: Model, objective: Objective, recipe: Recipe, collective: Collective) -> None:
        super().__init__(name="train_step")
        self.model = model
        self.objective = objective
        self._recipe = recipe
        self._collective = collective
        self._variables = [v.value for v in model.trainable_variables]
        self.optimizer = build_optimizer(recipe.training, self._variables)
        self.average = WeightAverage(self._variables, recipe.training.weight_average)
        found = objective.n_best.targets if objective.n_best else ()
        self._graph = tf.function(
            self._step,
            input_signature=[
                batch_signature(model.bins, (*objective.padding, *found)),
                tf.TensorSpec([1 + len(objective.schedule(0))], tf.float32),
                tf.TensorSpec([2], tf.int32),
                tf.TensorSpec([len(Notes._fields)], tf.float32),
            ],
        )

    def __call__(self, batch: BatchTensors, step: int, notes: Notes) -> StepResult:
        """Do step 0, 1, …; all ranks must call it with the same `step`."""
        if self.objective.n_best:
            batch = batch._replace(targets=batch.targets | self.objective.n_best(self.model, batch))
        rates = (learning_rate(step, self._recipe.training), *self.objective.schedule(step))
        seed = np.array([self._recipe.seed % 2**31, (step * self._collective.size + self._collective.rank) * 1000])
        try:
            figures: NDArray[np.float32] = self._graph(
                batch,
                tf.constant(rates, tf.float32),
                tf.constant(seed % 2**31, tf.int32),
                tf.constant(notes, tf.float32),
            ).numpy()
        except tf.errors.UnknownError as error:  # Horovod's error for a lost rank
            raise LostRank("in an allreduce" if "Horovod" in error.message else error.message) from error
        norm, examples, applied, *rest = (float(f) for f in figures)
        reports = self.objective.reports
        means = dict(zip(reports, rest, strict=False))
        return StepResult(means, norm, round(examples), bool(applied), Notes(*rest[len(reports) :]))

    def start_from(self, initial: InitialWeights) -> None:
        """Set the weights that match, and begin their average there."""
        initial.load(self.model)
        self.average.restart()

    def restore(self, checkpoint: Checkpoint) -> None:
        """Set weights, their average and the optimizer's state; raises WrongWeights or BadCheckpoint."""
        check_state(self.optimizer, checkpoint.optimizer)
        self.model.assign(checkpoint.weights)
        self.average.restore(checkpoint.average)
        self.optimizer.restore(checkpoint.optimizer)

    def _step(self, batch: BatchTensors, rates: tf.Tensor, seed: tf.Tensor, notes: tf.Tensor) -> tf.Tensor:
        reports = self.objective.reports
        with tf.GradientTape() as tape:
            losses = self.objective.losses(self.model, batch, rates[1:], seed)
            minimised = tf.reduce_sum(batch.weights * losses.minimised)
        # An embedding's gradient has only the rows that were looked up; sums over ranks are of whole tensors.
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(minimised, self._variables)]
        figures = [tf.reduce_sum(batch.weights * losses.reported[name]) for name in reports]
        own = tf.concat([[tf.reduce_sum(batch.weights)], figures, notes], 0)
        sums = [one * tf.reduce_max(batch.weights) for one in self.model.batch_sums()]  # a placeholder counts for none
        *summed, totals = self._collective.sum([*gradients, *sums, own], name="step")
        gradients, sums = summed[: len(gradients)], summed[len(gradients) :]
        late = totals[1 + len(reports) + Notes._fields.index("late")]
        examples = tf.where(late > 0, 0.0, totals[0])
        share = tf.maximum(examples, 1)
        gradients = [g / share for g in gradients]
        norm = tf.linalg.global_norm(gradients)
        means = totals[1 : 1 + len(reports)] / share
        applied = (examples > 0) & tf.math.is_finite(norm) & tf.math.is_finite(means[0])
        tf.cond(applied, lambda: self._apply(gradients, sums, norm, rates[0]), lambda: tf.constant(0.0))
        counts = [norm, examples, tf.cast(applied, tf.float32)]
        return tf.concat([counts, means, totals[1 + len(reports) :]], 0)

    def _apply(self, gradients: list[tf.Tensor], sums: list[tf.Tensor], norm: tf.Tensor, rate: tf.Tensor) -> tf.Tensor:
        scale = tf.minimum(1.0, self._recipe.training.clip_norm / tf.maximum(norm, 1e-12))  # Pascanu 2013, algorithm 1
        self.optimizer.update([g * scale for g in gradients], rate)
        self.model.update_moments(sums)
        self.average.update(self.optimizer.t)
        return norm

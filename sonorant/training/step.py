"""One optimizer step of the whole gang: exact for uneven ranks, the same decision on all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from sonorant.models.family import Model
from sonorant.objectives.objective import BatchTensors, Losses, Objective
from sonorant.recipe.schema import Recipe
from sonorant.tensorflow import graph_function, tf
from sonorant.training.accumulation import Accumulation
from sonorant.training.average import WeightAverage
from sonorant.training.batch import batch_signature, empty_tensors
from sonorant.training.checkpoints import Checkpoint
from sonorant.training.collective import Collective, LostRank
from sonorant.training.initial_weights import InitialWeights
from sonorant.training.loss_scale import LossScale
from sonorant.training.optimizer import build_optimizer, check_state
from sonorant.training.schedule import learning_rate

__all__ = ["Notes", "StepResult", "TrainStep"]

T = TypeVar("T")


class Notes(NamedTuple):
    """A rank's notes, summed over ranks with the gradients, so that all ranks decide alike.

    drained: 1 if the rank has no further batch of this epoch; late: 1 if its batch has not arrived, and the step must
    wait for it; time_over: 1 if time is exhausted; terminated: 1 if it got a signal; spoiled: 1 if too many examples
    were rejected; audio_s: audio in its batch; vectors: B x T, of which `padded` are padding; with truncated unrolling
    begun: utterances in its batch, and unfinished: 1 if the batch has another chunk.
    """

    drained: float = 0.0
    late: float = 0.0
    time_over: float = 0.0
    terminated: float = 0.0
    spoiled: float = 0.0
    audio_s: float = 0.0
    vectors: float = 0.0
    padded: float = 0.0
    begun: float = 0.0
    unfinished: float = 0.0


@dataclass(frozen=True)
class StepResult:
    """The outcome of a step, the same on every rank.

    figures: the objective's, each a mean over all utterances, the watched one first;
    gradient_norm: before clipping; examples: in all ranks' batches, 0 if none had any, or one was late and no step was
    made; applied: false if the loss or the gradient was not finite, and nothing changed; overflowed: whether that was
    for the scale of the loss, which is less now (see `loss_scale`).
    pending: whether the step needs more batches, and nothing changed; all figures are then of those so far, of which
    earlier results have counted `counted_examples` and `counted_audio_s`.
    updates: of the weights, one that was not applied counted; more than one with truncated unrolling alone.
    """

    figures: dict[str, float]
    gradient_norm: float
    examples: int
    applied: bool
    notes: Notes
    overflowed: bool = False
    pending: bool = False
    counted_examples: int = 0
    counted_audio_s: float = 0.0
    updates: int = 1

    @property
    def loss(self) -> float:
        """The figure that training watches."""
        return next(iter(self.figures.values()))


class TrainStep(tf.Module):
    """Gradients are sums over utterances, summed over ranks and divided by the global number of utterances.

    So a short batch, or a rank without one, gives the same mean as one rank with all the examples. sums_batches:
    whether several batches can make one step.
    """

    sums_batches = True

    def __init__(self, model: Model, objective: Objective, recipe: Recipe, collective: Collective) -> None:
        super().__init__(name="train_step")
        self.model = model
        self.objective = objective
        self._recipe = recipe
        self._collective = collective
        self._variables = [v.value for v in model.trainable_variables]
        self.optimizer = build_optimizer(recipe.training, self._variables)
        self.average = WeightAverage(self._variables, recipe.training.weight_average)
        self.loss_scale = LossScale(recipe.training.precision)
        self.decays = 0  # of the learning rate, by newbob
        self.accumulation = Accumulation(recipe.training.accumulate_batches)
        # A layer that is not there yet has no gradient; of any other weight that is a fault of the model.
        grows = bool(recipe.training.pretrain_layers)
        self._absent = tf.UnconnectedGradients.ZERO if grows else tf.UnconnectedGradients.NONE
        self._no_batch = empty_tensors(model.bins, objective.padding)
        self._trace()

    def set_layers(self, count: int) -> None:
        """Train with so many layers of the encoder; weights of the others stay."""
        self.model.set_layers(count)
        self._trace()

    def _trace(self) -> None:
        """Make the graphs of the model as it is now."""
        n_best = self.objective.n_best.targets if self.objective.n_best else ()
        signature = [
            batch_signature(self.model.bins, (*self.objective.padding, *n_best)),
            *self._other_inputs(),
        ]
        self._graph = graph_function(self._step, input_signature=signature)
        self._summed_graph = graph_function(self._summed, input_signature=signature)
        self._update_graph = graph_function(self._update)

    def _other_inputs(self) -> list[tf.TensorSpec]:
        """Return the specs of rates, seed and notes."""
        rates = tf.TensorSpec([1 + len(self.objective.schedule(0))], tf.float32)
        return [rates, tf.TensorSpec([2], tf.int32), tf.TensorSpec([len(Notes._fields)], tf.float32)]

    def __call__(self, batch: BatchTensors | None, step: int, notes: Notes) -> StepResult:
        """Do step 0, 1, …, or add a batch to it; all ranks must call it with the same `step`.

        batch: None where this rank has none.
        """
        batch = self._no_batch if batch is None else batch
        if self.objective.n_best:
            batch = batch._replace(targets=batch.targets | self.objective.n_best(self.model, batch))
        pending = self.accumulation
        rates, seed = self._rates(step), self._seed(step * pending.needed + pending.batches)
        inputs = (batch, rates, seed, tf.constant(notes, tf.float32))
        if pending.needed == 1 and not pending.batches:
            return self._result(self._called(self._graph, *inputs))
        return self._accumulate(self._called(self._summed_graph, *inputs), rates)

    def _seed(self, number: int) -> tf.Tensor:
        """Return dropout's seed for the batch of this number, or chunk, on this rank."""
        of_rank = (number * self._collective.size + self._collective.rank) * 1000
        return tf.constant(np.array([self._recipe.seed, of_rank]) % 2**31, tf.int32)

    @staticmethod
    def _called(graph: Callable[..., T], *inputs: object) -> T:
        try:
            return graph(*inputs)
        except tf.errors.UnknownError as error:  # Horovod's for a lost rank; a kernel of ours that fails raises it too
            if "Horovod" not in error.message:
                raise
            raise LostRank("in an allreduce") from error

    def flush(self, step: int) -> StepResult | None:
        """Do the step with the batches that there are, at the end of an epoch; None if there are none."""
        if not self.accumulation.batches:
            return None
        counted = self._result(self._counts(self.accumulation.sums[-1]))
        return replace(
            self._result(self._update_graph(self.accumulation.take(), self._rates(step))),
            counted_examples=counted.examples,
            counted_audio_s=counted.notes.audio_s,
        )

    def _accumulate(self, summed: list[tf.Tensor], rates: tf.Tensor) -> StepResult:
        """Add the sums of a batch, and do the step if it is the last one."""
        pending = self.accumulation
        own = self._result(self._counts(summed[-1]))
        before = self._result(self._counts(pending.sums[-1])) if pending.batches else None
        if own.examples:
            pending.add(summed)
        done = own.examples > 0 and pending.complete
        vector = self._update_graph(pending.take(), rates) if done else self._counts((pending.sums or summed)[-1])
        result = self._result(vector)
        whole = result.notes
        return replace(
            result,
            pending=not done,
            notes=own.notes._replace(audio_s=whole.audio_s, vectors=whole.vectors, padded=whole.padded),
            counted_examples=before.examples if before else 0,
            counted_audio_s=before.notes.audio_s if before else 0.0,
        )

    def _rates(self, step: int) -> tf.Tensor:
        rates = (learning_rate(step, self._recipe.training, self.decays), *self.objective.schedule(step))
        return tf.constant(rates, tf.float32)

    def _result(self, vector: tf.Tensor) -> StepResult:
        norm, examples, applied, overflowed, *rest = (float(f) for f in vector.numpy())
        reports = self.objective.reports
        means = dict(zip(reports, rest, strict=False))
        notes = Notes(*rest[len(reports) :])
        return StepResult(means, norm, round(examples), bool(applied), notes, bool(overflowed))

    def start_from(self, initial: InitialWeights) -> None:
        """Set the weights that match, and begin their average there."""
        initial.load(self.model)
        self.average.restart()

    def restart_average(self) -> None:
        """Begin the average of the weights anew: some that were random until now are trained from here on."""
        self.average.restart(self.optimizer.t)

    def restore(self, checkpoint: Checkpoint) -> None:
        """Set weights, their average and the optimizer's state; raises WrongWeights or BadCheckpoint."""
        check_state(self.optimizer, checkpoint.optimizer)
        self.model.assign(checkpoint.weights)
        self.optimizer.restore(checkpoint.optimizer)
        self.average.restore(checkpoint.average, self.optimizer.t)
        self.decays = checkpoint.progress.decays
        self.accumulation.restore(checkpoint.accumulated)
        self.loss_scale.restore(checkpoint.loss_scale)

    def _step(self, batch: BatchTensors, rates: tf.Tensor, seed: tf.Tensor, notes: tf.Tensor) -> tf.Tensor:
        return self._update(self._summed(batch, rates, seed, notes), rates)

    def _summed(self, batch: BatchTensors, rates: tf.Tensor, seed: tf.Tensor, notes: tf.Tensor) -> list[tf.Tensor]:
        """Return sums over utterances and ranks: gradients, the model's `batch_sums`, [examples, reports, notes]."""
        with tf.GradientTape() as tape:
            losses = self.objective.losses(self.model, batch, rates[1:], seed)
            minimised = self.loss_scale.scaled(tf.reduce_sum(batch.weights * losses.minimised))
        gradients = tape.gradient(minimised, self._variables, unconnected_gradients=self._absent)
        return self._sums(gradients, losses, batch.weights, notes)

    def _sums(
        self, scaled: Sequence[tf.Tensor], losses: Losses, weights: tf.Tensor, notes: tf.Tensor
    ) -> list[tf.Tensor]:
        """Return what `_summed` does, given the gradients of the scaled loss."""
        # An embedding's gradient has only the rows that were looked up; sums over ranks are of whole tensors.
        gradients = self.loss_scale.unscaled([tf.convert_to_tensor(g) for g in scaled])
        figures = [tf.reduce_sum(weights * losses.reported[name]) for name in self.objective.reports]
        own = tf.concat([[tf.reduce_sum(weights)], figures, notes], 0)
        sums = [one * tf.reduce_max(weights) for one in self.model.batch_sums()]  # a placeholder counts for none
        return self._collective.sum([*gradients, *sums, own], name="step")

    def _update(self, summed: list[tf.Tensor], rates: tf.Tensor) -> tf.Tensor:
        *summed, totals = summed
        gradients, sums = summed[: len(self._variables)], summed[len(self._variables) :]
        _, examples, _, _, *means = tf.unstack(self._counts(totals))
        per_utterance = 1 / tf.maximum(examples, 1)
        norm = tf.linalg.global_norm(gradients) * per_utterance
        sound, finite = (examples > 0) & tf.math.is_finite(means[0]), tf.math.is_finite(norm)
        applied, overflowed = sound & finite, self.loss_scale.update(sound, finite)
        tf.cond(applied, lambda: self._apply(gradients, per_utterance, sums, norm, rates[0]), lambda: tf.constant(0.0))
        return tf.stack([norm, examples, *(tf.cast(one, tf.float32) for one in (applied, overflowed)), *means])

    def _counts(self, totals: tf.Tensor) -> tf.Tensor:
        """Return a result's vector, [norm, examples, applied, overflowed, means, notes], before the step is done."""
        reports = len(self.objective.reports)
        late = totals[1 + reports + Notes._fields.index("late")]
        examples = tf.where(late > 0, 0.0, totals[0])
        means = totals[1 : 1 + reports] / tf.maximum(examples, 1)
        return tf.concat([[0.0, examples, 0.0, 0.0], means, totals[1 + reports :]], 0)

    def _apply(
        self, summed: list[tf.Tensor], per_utterance: tf.Tensor, sums: list[tf.Tensor], norm: tf.Tensor, rate: tf.Tensor
    ) -> tf.Tensor:
        """Update by gradients summed over utterances and ranks; norm: of their mean, before clipping."""
        scale = tf.minimum(1.0, self._recipe.training.clip_norm / tf.maximum(norm, 1e-12))  # Pascanu 2013, algorithm 1
        self.optimizer.update([g * (scale * per_utterance) for g in summed], rate)
        self.model.update_moments(sums)
        self.average.update(self.optimizer.t)
        return norm

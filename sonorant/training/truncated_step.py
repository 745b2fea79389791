"""Truncated unrolling: a step for every chunk, with the state carried from each to the next (Google 2017, section 2.3).

What the paper does: a batch is b rows by u vectors; after each one the weights change, and the LSTMs' state goes on to
the next, where it counts as a constant, so that gradients run over at most u vectors. The loss is the cross-entropy of
frames (section 3); a frame's label comes 5 vectors late (section 4), across chunks too. The maximum of vectors in a
step is b u, however long utterances are. For losses of whole utterances see `soft_aligned_step`.

What is the same here: all of that, and that an utterance begins with a state of its own, running level and mean of
features included. A state is carried on as the weights before the last update left it, as in the paper.

What differs: rows end with the batch (see `chunks`). Steps are synchronous over ranks: as long as one has a chunk, the
others join with none. The gradient is the mean over rows that have a target in the chunk, of sums over their frames;
the paper does not say how it is scaled. Batch normalisation, which it has not, is by a chunk of a rank.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from sonorant.models.carrying import Carrying
from sonorant.models.family import Inputs, Model, Outputs
from sonorant.objectives.objective import BatchTensors, ByFrame, Losses, Objective
from sonorant.recipe.schema import Recipe
from sonorant.tensorflow import graph_function, tf
from sonorant.training.batch import batch_signature, empty_tensors
from sonorant.training.chunks import BEGINS
from sonorant.training.collective import Collective
from sonorant.training.step import Notes, StepResult, TrainStep

__all__ = ["TruncatedStep"]


class TruncatedStep(TrainStep):
    """Makes the steps of a batch of `ChunkLayout`, one a chunk; needs a `Carrying` model and a `ByFrame` objective.

    A result is of the whole batch: figures are means over its utterances, `gradient_norm` over its steps that did not
    overflow. A chunk without a target, of a delay before the first output, changes nothing and is no step. After a step
    that is not finite the rest of the batch is left out, as its state may not be finite either. Signals, limits of time
    and checkpoints wait for the batch's end.

    on_chunk: called at each chunk, so that a watchdog sees a long batch go on.
    """

    sums_batches = False

    def __init__(
        self,
        model: Model,
        objective: Objective,
        recipe: Recipe,
        collective: Collective,
        on_chunk: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(model, objective, recipe, collective)
        self._on_chunk = on_chunk

    def _trace(self) -> None:
        self._carrying = cast(Carrying, self.model)
        self._chunk_signature = batch_signature(self.model.bins, (*self.objective.padding, BEGINS))
        self._state_signature = [tf.TensorSpec([None, s.shape[1]], tf.float32) for s in self._first_state([])]
        self._no_chunk = empty_tensors(self.model.bins, {**self.objective.padding, BEGINS: 0})
        signature = [self._chunk_signature, self._state_signature, self._loss_inputs_signature(), *self._other_inputs()]
        self._chunk_graph = graph_function(self._chunk_step, input_signature=signature)

    def _loss_inputs_signature(self) -> list[tf.TensorSpec]:
        """Return the specs of the tensors that a chunk's loss needs beside the chunk and the outputs."""
        return []

    def _loss_inputs(self, chunks: Sequence[BatchTensors], step: int) -> list[list[tf.Tensor]]:
        """Return these tensors for each chunk, and behind the last one for `_no_chunk`."""
        return [[] for _ in (*chunks, self._no_chunk)]

    def _losses(self, outputs: Outputs, chunk: BatchTensors, loss_inputs: Sequence[tf.Tensor]) -> Losses:
        """Return the losses of a chunk's rows; loss_inputs: of `_loss_inputs`."""
        return cast(ByFrame, self.objective).losses_of(outputs, chunk)

    def __call__(self, batch: BatchTensors | None, step: int, notes: Notes) -> StepResult:
        """Do steps `step`, `step` + 1, …; all ranks must call it with the same `step`."""
        chunks = [] if batch is None else _chunks(batch)
        state = self._first_state(chunks)
        loss_inputs = self._loss_inputs(chunks, step)
        begun = sum(int(tf.math.count_nonzero(chunk.targets[BEGINS].values)) for chunk in chunks)
        notes = notes._replace(begun=float(begun))
        results: list[StepResult] = []
        updates = 0
        while not results or _goes_on(results[-1]):
            self._on_chunk()
            number = len(results)
            if number >= len(chunks):  # others have one
                chunk, state = self._no_chunk, self._first_state([])
            else:
                chunk = chunks[number]
            notes = notes._replace(unfinished=float(number + 1 < len(chunks)))
            inputs = (self._rates(step + updates), self._seed(step + number), tf.constant(notes, tf.float32))
            vector, state = self._called(
                self._chunk_graph, chunk, state, loss_inputs[min(number, len(chunks))], *inputs
            )
            results.append(self._result(vector))
            updates += bool(results[-1].examples)
        return _batch_result(results, updates)

    def _first_state(self, chunks: Sequence[BatchTensors]) -> list[tf.Tensor]:
        return self._carrying.initial_state(len(chunks[0].weights) if chunks else 1)

    def _outputs_and_state(
        self, chunk: BatchTensors, state: list[tf.Tensor], seed: tf.Tensor
    ) -> tuple[Outputs, list[tf.Tensor]]:
        """Return the outputs of a chunk and the state after it; an utterance that begins there has its own."""
        begins = chunk.targets[BEGINS].values > 0
        first = self._carrying.initial_state(tf.shape(begins)[0])
        state = [tf.where(begins, new, old) for new, old in zip(first, state, strict=True)]
        return self._carrying.carry(Inputs(chunk.features, chunk.lengths), state, seed)

    def _chunk_step(
        self,
        chunk: BatchTensors,
        state: list[tf.Tensor],
        loss_inputs: list[tf.Tensor],
        rates: tf.Tensor,
        seed: tf.Tensor,
        notes: tf.Tensor,
    ) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with tf.GradientTape() as tape:
            outputs, after = self._outputs_and_state(chunk, state, seed)
            losses = self._losses(outputs, chunk, loss_inputs)
            minimised = self.loss_scale.scaled(tf.reduce_sum(chunk.weights * losses.minimised))
        gradients = tape.gradient(minimised, self._variables, unconnected_gradients=self._absent)
        summed = self._sums(gradients, losses, chunk.weights, notes)
        return self._update(summed, rates), after


def _chunks(batch: BatchTensors) -> list[BatchTensors]:
    """Return each chunk of a batch of `ChunkLayout`."""
    by_tensor = [tf.unstack(tensor) for tensor in tf.nest.flatten(batch)]
    return [tf.nest.pack_sequence_as(batch, tensors) for tensors in zip(*by_tensor, strict=True)]


def _goes_on(last: StepResult) -> bool:
    """Whether a rank has another chunk, and the last one was not in vain; the same on every rank."""
    in_vain = last.notes.late > 0 or (last.examples > 0 and not (last.applied or last.overflowed))
    return last.notes.unfinished > 0 and not in_vain


def _batch_result(results: Sequence[StepResult], updates: int) -> StepResult:
    """Return the result of a batch, given those of its chunks, whose `examples` are rows with a target."""
    first, made = results[0], [result for result in results if result.examples]
    if not made:
        return first
    examples = round(first.notes.begun)
    norms = [result.gradient_norm for result in made if not result.overflowed]
    return replace(
        first,
        figures={name: sum(r.figures[name] * r.examples for r in made) / examples for name in first.figures},
        gradient_norm=sum(norms) / max(1, len(norms)),
        examples=examples,
        applied=all(r.applied or r.overflowed for r in made),
        updates=updates,
        overflowed=any(r.overflowed for r in made),
    )

"""The training loop: batches, steps, evaluations of dev, checkpoints; every rank decides alike."""

from functools import reduce
from operator import add

from sonorant.arrays import Features
from sonorant.delivery.ledger import LedgerLost, Receipt
from sonorant.training.annealing import annealed_rate
from sonorant.training.batch import Batch
from sonorant.training.checkpoints import Checkpoint, Progress
from sonorant.training.completion import Reason, reason_to_end
from sonorant.training.identity import identity
from sonorant.training.metrics import SessionMeter
from sonorant.training.non_finite import NonFiniteSteps, check_finite
from sonorant.training.parts import TrainerParts, TrainerPorts
from sonorant.training.pretraining import grow, has_all_layers
from sonorant.training.rejections import TooManyRejected, too_many_rejected
from sonorant.training.schedule import decays, learning_rate
from sonorant.training.step import Notes, StepResult

__all__ = ["Reason", "Trainer"]

_PATIENCE_S = 1.0  # time-out of a rank's batch, after which it joins the step without one, or as late


class Trainer:
    """Trains from `progress` until epochs, time or patience are exhausted, or a signal arrives."""

    def __init__(self, parts: TrainerParts, ports: TrainerPorts, progress: Progress) -> None:
        self.parts = parts
        self.ports = ports
        self._recipe = parts.recipe.training
        self.progress = progress
        self._unsaved = False  # steps that were applied
        self._meter = SessionMeter(progress.session_s, progress.elapsed_s, progress.audio_s)
        self._batches = progress.batches[ports.collective.rank] if progress.batches else 0
        self._waits_at_end = False  # this rank has no further batch of the epoch
        self._held: Batch | None = None  # another rank was late for its step
        self._spoiled = False  # too many of the epoch's examples were rejected
        self._last_lap_s = 0.0
        self._layers: int | None = None  # of the encoder, as traced; None: all
        self._step_s = 0.0
        self._utterances: list[str] = []  # of this rank's batches in the step

    def run(self) -> Reason:
        """Train; returns on every rank with the same reason, after a checkpoint."""
        self._layers = grow(self.parts, self.progress, self._layers)
        if reason := self._over():
            return reason
        self.parts.evaluator.load()  # while waiting for the first examples
        self._last_lap_s = self.ports.clock()
        if not self.progress.begun and not self._normalise():
            return Reason.TERMINATED
        while True:
            self.ports.on_iteration()
            result = self.iterate()
            if reason := self._decide(result.notes):
                return reason

    def _over(self) -> Reason | None:
        progress = self.progress
        reason = reason_to_end(self._recipe, progress.epoch, self._looks_in_vain(), progress.train_s)
        return None if reason is Reason.TIME and progress.dev is None else reason

    def _time_over(self) -> bool:
        return 0 < self._recipe.max_minutes * 60 <= self.progress.train_s

    def _normalise(self) -> bool:
        """Set the model's normalisation from all ranks' first examples; False if a signal arrived.

        Initial weights are set after it, as they go with a normalisation of their own.
        """
        own: list[Features] | None = None
        while True:
            self.ports.on_iteration()
            own = self.parts.feeder.first_examples(_PATIENCE_S) if own is None else own
            answers = self.ports.collective.gather((own is not None, self.ports.terminated(), self._is_spoiled()))
            here, terminated, spoiled = zip(*answers, strict=True)
            if any(terminated):
                return False
            if any(spoiled):
                raise TooManyRejected(self.ports.ledger, self.progress.epoch, self._recipe.max_rejected)
            if own is not None and all(here):
                break
            elapsed_s = self._lap()
            self._meter.add(0.0, elapsed_s, 0.0)
            self.ports.reporter.waited(elapsed_s)
        self.parts.step.model.set_normalisation(own, lambda m: reduce(add, self.ports.collective.gather(m)))
        if self.parts.initial:
            self.parts.step.start_from(self.parts.initial)
            self.ports.reporter.initialised(self.progress, self.parts.initial)
        return True

    def iterate(self) -> StepResult:
        """Join one step, with a batch or without."""
        batch = self._held or self._next_batch()
        notes = Notes(
            drained=float(self._waits_at_end),
            late=float(self.parts.held_up is not None and batch is None and not self._waits_at_end),
            time_over=float(self._time_over()),
            terminated=float(self.ports.terminated()),
            spoiled=float(self._spoiled),
            audio_s=batch.audio_s if batch else 0.0,
            vectors=batch.vectors if batch else 0,
            padded=batch.padded if batch else 0,
        )
        started_s = self.ports.clock()
        result = self.parts.step(batch.tensors if batch else None, self.progress.step, notes)
        step_s = self.ports.clock() - started_s
        self._held = batch if result.notes.late else None
        if self._held:
            assert self.parts.held_up, "a rank is late, where none waits for it"
            self.parts.held_up()
        elif batch:
            self.parts.feeder.commit(batch)
            self.ports.reporter.worked(step_s, len(batch.ordinals), batch.audio_s)
            self._batches = batch.number + 1
            self._utterances += batch.utterances
        self._count(result, step_s)
        if result.examples and not result.pending:
            self._after_step(result)
        return result

    def _next_batch(self) -> Batch | None:
        if self._waits_at_end:
            return None
        item = self.parts.feeder.get(_PATIENCE_S)
        if isinstance(item, Batch):
            return item
        self._waits_at_end = item is not None
        self._spoiled = self._is_spoiled()  # only where nothing arrived: no step waits for the ledger
        return None

    def _is_spoiled(self) -> bool:
        """Whether too many were rejected; raises the ledger's errors about this generation; claims nothing."""
        self.ports.ledger.verify(self.ports.generation)
        return too_many_rejected(self.ports.ledger, self.progress.epoch, self._recipe.max_rejected)

    def _count(self, result: StepResult, step_s: float) -> None:
        examples = result.examples - result.counted_examples
        elapsed_s, session_s = self._lap(), step_s if examples else 0.0
        self._meter.add(session_s, elapsed_s, result.notes.audio_s - result.counted_audio_s if examples else 0.0)
        self._step_s += session_s
        self.ports.reporter.waited(elapsed_s - session_s)
        progress = self.progress
        progress.session_s, progress.elapsed_s = self._meter.session_s, self._meter.elapsed_s
        progress.audio_s = self._meter.audio_s
        progress.examples += examples

    def _lap(self) -> float:
        """Return the time since the last call, and count it as training time."""
        now_s = self.ports.clock()
        lap_s, self._last_lap_s = now_s - self._last_lap_s, now_s
        self.progress.train_s += lap_s
        return lap_s

    def _after_step(self, result: StepResult) -> None:
        before, every = self.progress.step, self._recipe.checkpoint_every_steps
        self.progress.step += result.updates
        rate = learning_rate(self.progress.step - 1, self._recipe, self.progress.decays)
        self.progress.skipped_steps += not result.applied
        self._unsaved |= result.applied
        self.progress.overflowed_steps += result.overflowed
        if not result.overflowed:
            self.progress.bad_steps = 0 if result.applied else self.progress.bad_steps + 1
        self.ports.reporter.step(self.progress, result, rate, self._step_s, self._meter)
        own, self._utterances, self._step_s = self._utterances, [], 0.0
        if not (result.applied or result.overflowed):
            everyones = [u for utterances in self.ports.collective.gather(own) for u in utterances]
            self.ports.reporter.skipped(self.progress, everyones)
            if self.progress.bad_steps >= self._recipe.max_bad_steps:
                raise self._given_up(everyones)
        if self.progress.step // every > before // every:
            self.save(best=False)

    def _given_up(self, utterances: list[str]) -> NonFiniteSteps:
        """Return the error of steps that are not finite; the good ones since the last checkpoint are in another."""
        error = NonFiniteSteps(self.progress.step, self.progress.bad_steps, utterances)
        if self._unsaved:
            self.progress.bad_steps = 0
            self.save(best=False)
            self.ports.collective.gather(None)  # the end of a rank ends the others, and rank 0 has written now
        return error

    def _decide(self, notes: Notes) -> Reason | None:
        """Act on the ranks' summed notes."""
        if notes.spoiled:
            raise TooManyRejected(self.ports.ledger, self.progress.epoch, self._recipe.max_rejected)
        if notes.terminated:
            self.save(best=False)
            return Reason.TERMINATED
        if notes.time_over:
            self.save(best=self._look_at_dev(extra=True))
            return Reason.TIME
        if notes.drained < self.ports.collective.size:
            return None
        if rest := self.parts.step.flush(self.progress.step):
            self._after_step(rest)
        return self._end_epoch()

    def _end_epoch(self) -> Reason | None:
        self.progress.epoch += 1
        self._batches, self._waits_at_end = 0, False
        last = self.progress.epoch >= self._recipe.epochs
        due = self.progress.epoch % self._recipe.dev_every_epochs == 0
        before = self.progress.regular_dev if self.progress.regular_best is not None else None  # none with these layers
        better = (due or last) and self._look_at_dev(extra=not due)
        if due:
            self._anneal()
        if due and decays(self._recipe, before, self.progress.dev or 0.0):
            self.progress.decays += 1
        self.parts.step.decays = self.progress.decays
        self.save(best=better, over=self.progress.epoch - 1)
        self._layers = grow(self.parts, self.progress, self._layers)
        if last:
            return Reason.EPOCHS
        return Reason.PATIENCE if self._looks_in_vain() >= self._recipe.patience else None

    def _looks_in_vain(self) -> int:
        """Return how long dev has been no better; patience waits for all layers."""
        return self.progress.looks_without_better if has_all_layers(self.parts.recipe, self.progress.epoch) else 0

    def _look_at_dev(self, *, extra: bool) -> bool:
        """Measure the evaluator's figure on dev; returns whether it is the best so far.

        extra: only an end of the run asks for it, so that newbob and patience leave it out.
        """
        started_s = self.ports.clock()
        with self.parts.step.average.applied():
            found = self.parts.evaluator.measure(self._recognised)
            alignment = self.parts.evaluator.alignment() if self.ports.collective.rank == 0 else None
        self._lap()
        better = self.progress.look(found, extra)
        self.ports.reporter.dev(self.progress, self.parts.evaluator.figure, self.ports.clock() - started_s, alignment)
        return better

    def _anneal(self) -> None:
        """Go on from the best checkpoint with less dropout, if the recipe's plateau has been reached."""
        rate = annealed_rate(self._recipe, self.progress)
        if rate is None:
            return
        best = self.ports.checkpoints.best() if self.ports.collective.rank == 0 else None
        best = self.ports.collective.broadcast(best)
        assert best is not None, "dev was evaluated before"
        self.parts.step.restore(best)
        self.parts.step.accumulation.take()  # batches of its epoch, which has gone on since
        self.parts.step.model.set_dropout(rate)
        self.progress.anneals += 1
        self.progress.dev_step = None  # the weights are others now
        self.progress.looks_without_better = 0
        self.ports.reporter.annealed(self.progress, rate, best.progress.step)

    def _recognised(self, utterances: int) -> None:
        self.ports.on_iteration()
        self.ports.reporter.recognised(utterances)

    def save(self, best: bool, over: int | None = None) -> None:
        """Write a checkpoint; at the gather, a barrier, all ranks have committed this step, and none the next.

        over: an epoch that has ended with this step. Raises StaleGeneration if a newer gang has begun, whose ledger is
        not that of these weights; LedgerLost if the ledger lacks a rank's write; and NonFiniteWeights.
        """
        self._unsaved = False
        self.parts.feeder.flush()
        gathered = self.ports.collective.gather((self._batches, self.ports.ledger.receipt()))
        self.progress.batches = [batches for batches, _ in gathered]
        step = self.parts.step
        weights = step.model.named_weights()
        check_finite(self.progress.step, weights)  # on all ranks, which end alike
        if self.ports.collective.rank == 0:
            self.progress.summed = list(step.objective.reports) if step.accumulation.batches else []
            with step.average.applied():
                evaluated = step.model.named_weights()
            checkpoint = Checkpoint(
                progress=self.progress,
                identity=identity(self.parts.recipe),
                weights=weights,
                evaluated=evaluated,
                average=step.average.state(),
                optimizer=step.optimizer.state(),
                accumulated=step.accumulation.state(),
                loss_scale=step.loss_scale.state(),
                ledger=self._snapshot([receipt for _, receipt in gathered], over),
            )
            self.ports.checkpoints.save(checkpoint, best)
        self._lap()

    def _snapshot(self, receipts: list[Receipt], over: int | None) -> bytes:
        """Return the ledger's snapshot; of an epoch that is over, every example is settled in it."""
        if over is not None:
            found = self.ports.ledger.progress(over)
            if missing := found.total - found.committed - found.rejected:
                raise LedgerLost(f"epoch {over} is over, but {missing} of its {found.total} examples are not settled")
        return self.ports.ledger.snapshot(self.ports.generation, receipts)

"""Feeder: a thread that forms, claims and pads batches ahead of the step."""

import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from sonorant.arrays import Features
from sonorant.delivery.example import Example
from sonorant.delivery.ledger import Ledger, Rejection
from sonorant.errors import RejectedExample
from sonorant.training.batch import Batch, Layout
from sonorant.training.example_source import ExampleSource
from sonorant.training.intake import Action, Arrival, AskLedger, EndEpoch, Form, Intake, Rejected, Wait
from sonorant.training.labeller import Labeller

__all__ = ["EpochEnd", "Feeder"]

T = TypeVar("T")

_READY_BATCHES = 3
_GROUP = 32  # examples that are labelled at once, at most: others would wait too long for a batch
_POLL_S = 0.05
_STAGE = "trainer"  # the ledger's name for rejections of this package


@dataclass(frozen=True)
class EpochEnd:
    """Follows this rank's last batch of `epoch` in the queue."""

    epoch: int


class Feeder:
    """Takes examples, claims them at the ledger batch by batch, pads them.

    Trained batches are committed in the round trip of the next claim, so that no step waits for the ledger.
    epochs: total number; measure: whether `first_examples` will be called.
    """

    def __init__(
        self,
        source: ExampleSource,
        ledger: Ledger,
        generation: int,
        intake: Intake,
        labeller: Labeller,
        layout: Layout,
        epochs: int,
        measure: bool,
    ) -> None:
        self._source = source
        self._ledger = ledger
        self._generation = generation
        self._intake = intake
        self._labeller = labeller
        self._layout = layout
        self._epochs = epochs
        self._unmeasured = measure
        self._arrived: list[Example] = []  # and not labelled yet
        self._trained: list[Batch] = []  # and not committed yet
        self._ledger_lock = threading.Lock()  # the thread claims while the loop flushes
        self._ready: queue.Queue[Batch | EpochEnd] = queue.Queue()
        self._first: queue.Queue[list[Features]] = queue.Queue()
        self._room = threading.Event()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="feeder", daemon=True)

    def start(self) -> None:
        """Begin to take examples."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; its batches stay claimed until the ledger is restored."""
        self._stop.set()
        self._room.set()
        if self._thread.ident is not None:
            self._thread.join()

    def get(self, timeout_s: float) -> Batch | EpochEnd | None:
        """Return the next batch or the end of its epoch; None after the time-out. Raises the thread's error."""
        return self._next(self._ready, timeout_s)

    def first_examples(self, timeout_s: float) -> list[Features] | None:
        """Return the features of the first examples, once; None after the time-out."""
        return self._next(self._first, timeout_s)

    def commit(self, batch: Batch) -> None:
        """Note that a batch's step was done: the next claim commits it, or `flush`, which must end each epoch."""
        self._trained.append(batch)

    def flush(self) -> None:
        """Commit all trained batches, so that a snapshot of the ledger has them. Raises the ledger's errors."""
        self._exchange(self._intake.epoch, ())

    def _next(self, waiting: "queue.Queue[T]", timeout_s: float) -> T | None:
        if self._error is not None and waiting.empty():
            raise self._error
        try:
            item = waiting.get(timeout=timeout_s)
        except queue.Empty:
            if self._error is not None:
                raise self._error from None
            return None
        self._room.set()
        return item

    def _run(self) -> None:
        try:
            while not self._stop.is_set() and self._intake.epoch < self._epochs:
                self._iterate()
        except BaseException as error:  # carried to the loop, which raises it
            self._error = error

    def _iterate(self) -> None:
        drained = self._source.drained(self._intake.epoch)  # first: `take` then has all that arrived before
        if count := self._intake.credits(drained):
            self._source.grant(count)
        full = self._ready.qsize() >= _READY_BATCHES
        at_once = full or drained or self._intake.ready or self._arrived
        self._arrived += self._source.take(0.0 if at_once else _POLL_S)
        due = self._arrived[:_GROUP]
        if full and len(due) < _GROUP:  # what arrives meanwhile is labelled together
            self._room.wait(_POLL_S)
            self._room.clear()
            return
        del self._arrived[: len(due)]
        self._intake.arrived(self._labelled(due))
        if not full:
            self._do(self._intake.next_action(drained and not self._arrived))

    def _labelled(self, examples: Sequence[Example]) -> list[Arrival]:
        found = self._labeller.label(examples)
        return [
            self._rejected(example, one.reason) if isinstance(one, RejectedExample) else one
            for example, one in zip(examples, found, strict=True)
        ]

    def _rejected(self, example: Example, reason: str) -> Rejected:
        epoch, ordinal = example.lineage.epoch, self._labeller.ordinal(example)
        rejection = Rejection(example.lineage, example.utterance, _STAGE, reason)
        with self._ledger_lock:
            self._ledger.reject(self._generation, epoch, ordinal, rejection)
        return Rejected(epoch, ordinal)

    def _do(self, action: Action) -> None:
        match action:
            case Form():
                self._form()
            case EndEpoch():
                self._measure()
                self._ready.put(EpochEnd(self._intake.epoch))
                self._intake.next_epoch()
            case AskLedger(ordinals, skip):
                with self._ledger_lock:
                    rejected = self._ledger.rejected(self._intake.epoch, ordinals)
                skip([ordinal for ordinal, gone in zip(ordinals, rejected, strict=True) if gone])
            case Wait():
                pass

    def _form(self) -> None:
        self._measure()
        epoch, number = self._intake.epoch, self._intake.batches
        items = self._intake.form()
        granted = self._exchange(epoch, [item.ordinal for item in items])
        if kept := [item for item, mine in zip(items, granted, strict=True) if mine]:
            self._ready.put(self._layout(epoch, number, kept))

    def _exchange(self, epoch: int, ordinals: Sequence[int]) -> list[bool]:
        """Commit trained batches, and claim examples; after a failure the next call commits them."""
        with self._ledger_lock:
            trained = self._trained[:]  # the loop may add to it meanwhile
            committed = (trained[0].epoch if trained else epoch, [o for batch in trained for o in batch.ordinals])
            granted = self._ledger.commit_and_claim(self._generation, committed, (epoch, ordinals))
            del self._trained[: len(trained)]
        return granted

    def _measure(self) -> None:
        if self._unmeasured:
            self._unmeasured = False
            self._first.put([item.features for item in self._intake.pool()])

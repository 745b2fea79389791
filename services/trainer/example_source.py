"""The trainer's source of examples: links to the last stage and heartbeats to the coordinator, for one rank."""

import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable

import structlog

from services.coordination.client import CoordinatorClient
from services.coordination.meter import Meter
from services.links.consumer import ConsumerLinks
from services.links.loop import LinkLoop
from services.links.sockets import link_context
from services.process.keys import process_keys
from sonorant.delivery.example import Example, Lineage
from sonorant.errors import Unavailable
from sonorant.recipe.layout import TRAINER, lane_names, stage_before
from sonorant.recipe.schema import Recipe
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["LinkedExampleSource"]

log = structlog.get_logger()


class LinkedExampleSource:
    """Registers one rank as a replica of the trainer, and pulls examples on credit.

    Construct it after the coordinator has started `generation`, so that its responses are about this generation.
    Duplicates are dropped here if this rank had the first copy, else by the ledger.
    `take` and `grant` raise Unavailable if the links broke down.
    """

    def __init__(
        self,
        recipe: Recipe,
        coordinator: str,
        replica: str,
        generation: int,
        rank: int = 0,
        on_finished: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_finished = on_finished
        self._changed = threading.Condition()
        self._here: list[Example] = []
        self._seen: defaultdict[int, set[Lineage]] = defaultdict(set)
        self._drained: set[int] = set()
        self._crash: Exception | None = None
        pipeline = recipe.pipeline
        # In strict order the oldest unreported arrival blocks leases: each rank reports within its share of lookahead.
        in_time = pipeline.lookahead_examples // 4 // recipe.training.ranks
        self._most_unreported = in_time if pipeline.order == "strict" else sys.maxsize
        self._wanted = 0  # granted credits without an example yet
        self.meter = Meter(queued=lambda: len(self._here), wanted=lambda: self._wanted)
        self.meter.generation = generation
        self._client = CoordinatorClient(coordinator, replica, self.meter)
        self._loop = LinkLoop()
        self._context = link_context()
        self._inlet = self._consumer(recipe, rank)
        self.meter.link_faults = lambda: self._inlet.faults
        self._loop.start([self._inlet], self._on_crash)
        self._client.start(pb.RegisterRequest(stage=TRAINER, replica=replica), self._on_response)
        self._client.watch(stage_before(recipe, TRAINER), self._on_endpoints)

    def take(self, timeout_s: float) -> list[Example]:
        """Return the examples that have arrived; waits up to `timeout_s` for the first."""
        with self._changed:
            self._changed.wait_for(lambda: self._here or self._crash, timeout_s)
            if self._crash is not None:
                raise Unavailable(f"the links to the augmentation broke down: {self._crash!r}") from self._crash
            taken, self._here = self._here, []
        return taken

    def grant(self, count: int) -> None:
        """Grant credit for `count` more examples."""
        if count > 0:
            with self._changed:
                self._wanted += count
            self._loop.post(lambda: self._inlet.release(count))

    def drained(self, epoch: int) -> bool:
        """Whether every example of the epoch has been taken by some rank or is settled: `take` returns none of it."""
        with self._changed:
            return epoch in self._drained and all(e.lineage.epoch != epoch for e in self._here)

    def report(self, busy_s: float, examples: int, audio_s: float) -> None:
        """Count one training step: its time, its examples and the seconds of audio in them."""
        self.meter.worked(busy_s)
        self.meter.stepped()
        self.meter.handed_on(examples, audio_s)

    def waited(self, waited_s: float) -> None:
        """Count time in which the rank waited for its batch."""
        self.meter.waited(waited_s)

    def show(self, figures: dict[str, float]) -> None:
        """Set figures that `sonorant status` shows."""
        self.meter.show(figures)

    def close(self) -> None:
        """Report the arrivals, and close links and client."""
        self.meter.draining = True
        self._loop.stop()
        self._client.close()
        self._context.term()

    def __enter__(self) -> "LinkedExampleSource":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _consumer(self, recipe: Recipe, rank: int) -> ConsumerLinks:
        """Return the rank's end of the links to the last stage, in a lane of its own if there are lanes."""
        pipeline, lanes = recipe.pipeline, lane_names(recipe, stage_before(recipe, TRAINER))
        return ConsumerLinks(
            self._context,
            self._on_example,
            dead_after_s=pipeline.dead_after_s,
            max_example_bytes=int(pipeline.max_example_mb * 1e6),
            on_broken=self._client.link_broke,
            curve=process_keys().curve,
            lane_name=lanes[rank if len(lanes) > 1 else 0],
        )

    def _on_example(self, example: Example) -> None:
        lineage = example.lineage
        with self._changed:
            known = lineage.epoch in self._drained or lineage in self._seen[lineage.epoch]
            if not known:
                self._seen[lineage.epoch].add(lineage)
                self._here.append(example)
                self._wanted -= 1
                self._changed.notify_all()
        # Only what is stored may be reported: the coordinator could answer that its epoch is drained. A duplicate
        # is reported too: the coordinator leased it again since the first was not reported in time.
        if self.meter.arrived(lineage) > self._most_unreported:
            self._client.beat_now()
        if known:
            self.meter.dropped(lineage.epoch)
            self._inlet.release(1)

    def _on_response(self, response: pb.HeartbeatResponse) -> None:
        done = {progress.epoch for progress in response.epochs if progress.outstanding == 0}
        if response.epochs:  # epochs that are no longer listed are drained
            done |= set(range(min(progress.epoch for progress in response.epochs)))
        with self._changed:
            self._drained |= done
            for epoch in done:  # from now on, every example of it is a duplicate
                self._seen.pop(epoch, None)
            self._changed.notify_all()
        if response.finished:
            self._on_finished()

    def _on_endpoints(self, endpoints: list[str]) -> None:
        self._loop.post(lambda: self._inlet.list_endpoints(endpoints, time.monotonic()))

    def _on_crash(self, error: Exception) -> None:
        log.error("links_crashed", exc_info=error)
        with self._changed:
            self._crash = error
            self._changed.notify_all()

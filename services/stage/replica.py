"""One replica of a stage: it takes examples from a source, computes, and sends them.

The main thread receives, computes and sends, in a loop; the coordinator client's threads report. Backpressure: a
replica holds at most `credits` examples, whether they wait, are computed or wait for a consumer's credit.
"""

import time
from collections.abc import Callable, Mapping

import structlog

from services.links.producer import ProducerLinks
from services.links.zmq_message import memory_for
from services.process.health import HealthServer
from services.process.signals import Shutdown
from services.process.trouble import Trouble
from services.stage.runtime import Runtime
from services.stage.source import MACHINE_FAILED, Source
from sonorant.augment.chain import apply_stage
from sonorant.augment.stage import Stage
from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample, Unavailable
from sonorant.links.lanes import lane_of
from sonorant.links.wire import Parcel
from sonorant.recipe.pipeline import PipelineRecipe
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["COMPUTE_S", "DRAIN_S", "StageReplica"]

log = structlog.get_logger()

COMPUTE_S = 0.02  # at most, before the links are polled again
DRAIN_S = 20.0  # below the 30 s that Kubernetes leaves between SIGTERM and SIGKILL
_MAY_PASS = (OSError, Unavailable)
_PATIENCE_S = 10.0  # with an absent volume


class StageReplica:
    """Runs the `chain` of stages on every example of `source`, with random numbers that follow from `seed`.

    health: gets each iteration of the loop, and readiness: from registration with the coordinator to the drain.
    on_iteration: called at each iteration of the loop.
    An example that a stage cannot process is reported and skipped. After an error of the machine, such as an absent
    volume, the example is tried again for ten seconds; then, and at once if memory is exhausted, the replica ends with
    an error, and its examples are leased again. `run` returns after a drain: when `shutdown` is requested, or the
    coordinator's response is `finished`.
    """

    def __init__(
        self,
        runtime: Runtime,
        source: Source,
        outlet: ProducerLinks,
        chain: Mapping[str, Stage],
        seed: int,
        pipeline: PipelineRecipe,
        shutdown: Shutdown,
        health: HealthServer | None = None,
        on_iteration: Callable[[], None] = lambda: None,
    ) -> None:
        self.meter = runtime.meter
        self._runtime = runtime
        self._replica, self._client, self._loop = runtime.replica, runtime.client, runtime.loop
        self._source = source
        self._outlet = outlet
        self._chain = chain
        self._seed = seed
        self._payload = pipeline.payload
        self._largest_bytes = int(pipeline.max_example_mb * 1e6)
        self._shutdown = shutdown
        self._health = health
        self._on_iteration = on_iteration
        self._max_per_iteration = max(1, pipeline.credits // 4)  # others arrive meanwhile
        self._draining_outlet = False
        self._trouble = Trouble(_PATIENCE_S)
        self._held: Example | None = None  # to try again, after an error of the machine
        self._known = False
        self._cpu_s = 0.0  # of the loop's thread, at its last iteration
        self._links = (outlet, *source.links)
        self.meter.queued, self.meter.link_faults = self._waiting, self._link_faults

    def run(self) -> None:
        """Work until `shutdown` is requested, then drain for `DRAIN_S` at most."""
        self._client.start(self._replica.registration(self._outlet.endpoint), self._on_response)
        self._cpu_s = time.thread_time()
        try:
            self._loop.post(self._source.start)
            self._shutdown.on_request(self._begin_drain)
            self._loop.run(self._links, self._work, self._measure)
        except Exception as error:
            log.error("stage_crashed", exc_info=error)
            self._leave(report=False)
            raise
        self._leave(report=True)

    def _waiting(self) -> int:
        return self._source.waiting() + (self._held is not None) + self._outlet.waiting

    def _link_faults(self) -> int:
        return sum(links.faults for links in self._links)

    def _measure(self, awake_s: float) -> None:
        before_s, self._cpu_s = self._cpu_s, time.thread_time()
        self.meter.worked(awake_s, min(self._cpu_s - before_s, awake_s))
        self._on_iteration()
        if self._health is not None:
            self._health.iterated()

    def _work(self) -> bool:
        """Compute for at most `COMPUTE_S`; return whether there was an example.

        Several short examples share a poll of the links and a message. At most a quarter of the credits is computed in
        an iteration, so that the next one need not wait for the examples of the slots that this one frees.
        """
        until_s, worked = time.monotonic() + COMPUTE_S, 0
        while worked < self._max_per_iteration and time.monotonic() < until_s and self._process():
            worked += 1
        if not worked and self._source.ended and self._held is None and not self._draining_outlet:
            self._draining_outlet = True
            self._outlet.drain(self._loop.stop)
        return worked > 0

    def _process(self) -> bool:
        """Take an example, compute and offer it; False if there was none, or the machine failed."""
        if not self._trouble.due(time.monotonic()):
            return False
        example, self._held = self._held, None
        try:
            example = example or self._source.take()
            parcel = self._compute(example) if example is not None else None
        except _MAY_PASS as error:
            self._held = example
            self._wait_out(error)
            return False
        if example is None:
            return False
        if self._trouble.lasts:
            log.info("machine_works", after_s=round(self._trouble.passed(time.monotonic()), 1))
        if parcel is None:
            self._source.release()
        else:
            self._outlet.offer(parcel)
        return True

    def _wait_out(self, error: Exception) -> None:
        """Pause before another try; raise the error once patience is over."""
        if not self._trouble.lasts:
            log.warning("machine_failed", error=f"{type(error).__name__}: {error}", patience_s=_PATIENCE_S)
        if not self._trouble.failed(time.monotonic()):
            raise error

    def _compute(self, example: Example) -> Parcel | None:
        name = self._replica.stage
        try:
            for name, stage in self._chain.items():
                example = apply_stage(name, stage, example, self._seed)
            parcel = Parcel(example, self._payload, lane_of(example.lineage, len(self._replica.lane_names)))
            if parcel.size > self._largest_bytes:
                raise RejectedExample(
                    f"{parcel.size} bytes after {name}: links carry at most pipeline.max_example_mb, "
                    f"{self._largest_bytes} bytes"
                )
            parcel.write(memory_for(parcel.size))
            return parcel
        except MACHINE_FAILED:
            raise
        except Exception as error:  # one example must not stop the others, whatever it hits
            self._runtime.reject(example.lineage, example.utterance, name, error)
            return None

    def _on_response(self, response: pb.HeartbeatResponse) -> None:
        if self._health is not None and not self._known:
            self._known = True
            self._health.ready(True)
            if self._shutdown.requested:
                self._health.ready(False)
        if response.finished and not self._replica.stays and not self._shutdown.requested:
            log.info("run_finished")
            self._shutdown.request()
            self._loop.post(self._abort)

    def _begin_drain(self) -> None:
        log.info("draining")
        if self._health is not None:
            self._health.ready(False)
        self.meter.draining = True
        self._client.stop_leasing()
        self._client.beat_now()
        self._loop.post(self._drain)

    def _drain(self) -> None:
        self._source.drain()
        self._outlet.give_up_at(time.monotonic() + DRAIN_S, self._abort)

    def _abort(self) -> None:
        """Abort the drain with examples undelivered; the coordinator leases them again (at-least-once)."""
        log.info("drain_ended", waiting=self._outlet.waiting, untaken=self._source.waiting())
        self._loop.abort()

    def _leave(self, report: bool) -> None:
        """Close everything; a crashed replica sends no last heartbeat, so that it counts as dead."""
        if report:
            self.meter.draining = True
        self._source.close()
        self._client.close(report)
        self._runtime.context.term()
        log.info("left")

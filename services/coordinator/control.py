"""The coordinator without its transport: it puts registry, leases and ledger together."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

import structlog

from services.coordination.durations import seconds
from services.coordination.redis_ledger import RedisLedger, Start
from services.coordinator.arithmetic import ArithmeticWatch
from services.coordinator.status import epoch_progress, loads, rejection_status, replica_status, t_session
from sonorant.augment.chain import stage_names
from sonorant.delivery.lease import Lease, LeaseBook
from sonorant.delivery.ledger import LedgerLost, LedgerProgress, Rejection, StaleGeneration
from sonorant.errors import Unavailable
from sonorant.fleet.bottleneck import find_bottleneck
from sonorant.fleet.registry import MOST_REPLICAS, Load, Registry
from sonorant.recipe import Recipe
from sonorant.recipe.layout import TRAINER, stage_order
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["ControlPlane", "Tallies"]

log = structlog.get_logger()

_SHOWN_REJECTIONS = 100
_MOST_FIGURES, _LONGEST_NAME = 64, 200
_AGAIN_BEATS = 2  # heartbeats between two leasings of everything again: one loss is noticed by several replicas


@dataclass(frozen=True)
class Tallies:
    """What happened so far: leases and examples leased since the coordinator began, second copies over the whole run.

    refused: by the ledger; dropped: by the rank that had the first copy.
    """

    leases: int
    leased: int
    reissued: int
    refused: int
    dropped: int


class ControlPlane:
    """The state of one training run; its methods are events. Those that query Redis may block, see their docstrings.

    complete: whether training is complete by this recipe, after the run's totals; None: there are none. False: the
    recipe was extended since it was complete.

    Methods may be called from several threads; `now` is a monotonic time in seconds.
    """

    def __init__(
        self, recipe: Recipe, counts: Sequence[int], ledger: RedisLedger, complete: bool | None = None
    ) -> None:
        pipeline = recipe.pipeline
        self._ledger = ledger
        self._complete = complete
        self._lock = threading.RLock()
        self._registry = Registry(pipeline.heartbeat_s, pipeline.dead_after_s)
        self._leases = LeaseBook(
            counts,
            seed=recipe.seed,
            lease_examples=pipeline.lease_examples,
            lease_timeout_s=pipeline.lease_timeout_s,
            lookahead_examples=pipeline.lookahead_examples,
            reach_examples=pipeline.lookahead_examples if pipeline.order == "strict" else None,
        )
        self._stages = stage_order(recipe)
        self._chain = frozenset(("shard_reader", *stage_names(recipe)))  # in whatever processes
        self._rejected: Counter[str] = Counter()
        self._arithmetic = ArithmeticWatch(self._stages)
        self._copies = {"refused": 0, "dropped": 0}
        self._lost_by = ""  # why examples that are leased may be lost; empty: they are not
        self._again_pause_s = _AGAIN_BEATS * pipeline.heartbeat_s
        self._again_due_s = float("-inf")
        self._start: Start | None = None
        self._ledger_progress: dict[int, LedgerProgress] = {}
        self._rejections: list[Rejection] = []
        self._figures: dict[str, float] = {}
        # By epoch; not yet in the ledger.
        self._unreported: dict[str, Counter[int]] = {"dropped": Counter(), "reissued": Counter()}

    @property
    def total(self) -> int:
        """Examples in an epoch."""
        return self._leases.total

    @property
    def _generation(self) -> int:
        return self._start.generation if self._start is not None else 0

    @property
    def heartbeat_s(self) -> float:
        """Time between two heartbeats that replicas are to keep now."""
        with self._lock:
            return self._registry.heartbeat_s

    @property
    def changes(self) -> int:
        """How often endpoints may have changed."""
        with self._lock:
            return self._registry.changes

    def resume(self) -> bool:
        """Resume the generation stored in Redis; False if there is none, or it ended before. Queries Redis."""
        start = self._ledger.last_start()
        if start is None or (start.complete and self._complete is False):
            return False
        self._begin(start)
        return True

    def register(self, stage: str, replica: str, endpoint: str, now: float, arithmetic: str = "") -> None:
        """Note a replica, and log it if its `arithmetic` differs from others of its stage.

        `ValueError` if a name is too long, `Unavailable` if there are too many.
        """
        for name in (stage, replica, endpoint, arithmetic):
            if len(name) > _LONGEST_NAME:
                raise ValueError(f"name of {len(name)} characters, {name[:20]!r}…: at most {_LONGEST_NAME} are taken")
        with self._lock:
            if replica not in self._registry:
                log.info("replica_registered", stage=stage, replica=replica, endpoint=endpoint)
            if not self._registry.register(stage, replica, endpoint, now, arithmetic):
                raise Unavailable(f"{MOST_REPLICAS} replicas are registered, the maximum; does one restart for ever?")
            self._arithmetic.registered(stage, replica, arithmetic)

    def heartbeat(self, request: pb.HeartbeatRequest, now: float) -> bool:
        """Note a sign of life and what arrived at trainers; False if the replica has to register.

        `ValueError` if a record arrived that no shard has; then nothing is noted.
        """
        busy_s, elapsed_s, waited_s = (seconds(d) for d in (request.busy, request.elapsed, request.waited))
        cpu_s = seconds(request.cpu) if request.HasField("cpu") else None
        load = Load(busy_s, elapsed_s, request.examples, seconds(request.audio), waited_s, cpu_s)
        arrived = [(r.epoch, self._leases.ordinals(r.shard, r.indexes)) for r in request.arrived]
        with self._lock:
            if not self._registry.heartbeat(
                request.replica, load, request.queued, request.draining, now, request.link_faults, request.wanted
            ):
                return False
            if self._start is not None and request.generation == self._generation:
                for epoch, ordinals in arrived:
                    self._leases.settle(epoch, ordinals)
                known = {progress.epoch for progress in self._leases.progress()} if request.dropped else ()
                self._unreported["dropped"].update({e: count for e, count in request.dropped.items() if e in known})
            if request.figures:
                self._figures = _figures({**self._figures, **request.figures})
            if request.broken_links:
                self._lost_by = self._lost_by or f"a link of {request.replica} broke"
            return True

    def endpoints(self, stage: str) -> tuple[str, ...]:
        """Return where a stage's living replicas serve, sorted."""
        with self._lock:
            return self._registry.endpoints(stage)

    def acquire(self, replica: str, now: float) -> Lease | None:
        """Lease records to a living replica; None if it is unknown, or there is nothing to read now."""
        with self._lock:
            return self._leases.acquire(replica, now) if replica in self._registry else None

    def reject(self, rejection: Rejection) -> None:
        """Note an example that a stage could not process. Queries Redis; `ValueError` if there is no such record.

        While the next generation begins it may be forgotten: that one leases the example again.
        """
        epoch, shard, index = rejection.lineage
        ordinals, generation = self._leases.ordinals(shard, [index]), self._generation
        try:
            self._ledger.reject(generation, epoch, int(ordinals[0]), rejection)
        except (StaleGeneration, LedgerLost) as error:
            log.info("rejection_dropped", utterance=rejection.utterance, reason=str(error))
            return
        with self._lock:
            if generation == self._generation:  # else the ledger was restored since: the example may be free again
                self._leases.settle(epoch, ordinals)
            if rejection.stage in self._chain:
                self._rejected[rejection.stage] += 1
        log.warning("example_rejected", utterance=rejection.utterance, at=rejection.stage, reason=rejection.reason)

    def start_generation(self, start: Start) -> None:
        """Drop all leases and lease what the ledger has not settled; idempotent. Queries Redis.

        Raises StaleGeneration if the ledger is in another generation.
        """
        self._ledger.remember_start(start)
        self._begin(start)

    def end_training(self, generation: int) -> None:
        """Lease nothing more; idempotent. Queries Redis. Raises StaleGeneration if it is not the one that runs."""
        with self._lock:
            if self._start is None or self._generation != generation:
                raise StaleGeneration(generation, self._generation)
            self._start = ended = self._start._replace(complete=True)
            self._leases.close()
        self._ledger.remember_start(ended)
        log.info("training_ended", generation=generation)

    def tick(self, now: float) -> None:
        """Advance time: remove silent replicas; lease their examples again, and those of expired leases."""
        with self._lock:
            dead = self._registry.expire(now)
            for replica in dead:
                log.warning("replica_gone", stage=replica.stage, replica=replica.name, drained=replica.left_cleanly)
            # A trainer's death is its gang's: it comes back as a new generation.
            if any(replica.stage != TRAINER and not replica.left_cleanly for replica in dead):
                self._lost_by = "a replica died"
            if self._lost_by and now >= self._again_due_s:
                log.warning("leased_again", examples=self._leases.lease_again(), because=self._lost_by)
                self._lost_by, self._again_due_s = "", now + self._again_pause_s
            for lease in self._leases.expire(now):
                log.warning("lease_expired", lease=lease.number, epoch=lease.epoch, replica=lease.replica)

    def refresh(self) -> None:
        """Read from the ledger what status shows; verify that it has all rejections. Queries Redis."""
        with self._lock:
            epochs, generation = [progress.epoch for progress in self._leases.progress()], self._generation
        with suppress(StaleGeneration, LedgerLost):  # it refuses the ranks, too: a new gang will begin
            self._ledger.verify(generation)
        self._count_events()
        progress = {epoch: self._ledger.progress(epoch) for epoch in epochs}
        rejections = self._ledger.rejections()[-_SHOWN_REJECTIONS:]
        copies = {event: sum(self._ledger.events(event).values()) for event in ("refused", "dropped")}
        with self._lock:
            self._ledger_progress, self._rejections, self._copies = progress, rejections, copies

    @property
    def finished(self) -> bool:
        """True once rank 0 has reported it, in this generation: its last checkpoint and the result are written.

        The ledger does not imply it: a gang that is lost before its last checkpoint needs examples again. If Redis lost
        its data, the run's totals decide.
        """
        with self._lock:
            return self._complete is True if self._start is None else self._start.complete

    def epochs(self) -> list[pb.EpochProgress]:
        """Return the progress of the epochs under way."""
        with self._lock:
            nothing = LedgerProgress(self.total, 0, 0, 0)
            shown = [(p, self._ledger_progress.get(p.epoch, nothing)) for p in self._leases.progress()]
        return [epoch_progress(leases, ledger) for leases, ledger in shown]

    def status(self, now: float) -> pb.GetStatusResponse:
        """Return everything that `sonorant status` shows."""
        with self._lock:
            replicas, figures = self._registry.replicas(), dict(self._figures)
            rejections, generation = list(self._rejections), self._generation
            rejected = dict(self._rejected)
        found = loads(self._stages, replicas)
        return pb.GetStatusResponse(
            generation=generation,
            replicas=[replica_status(replica, now) for replica in replicas],
            epochs=self.epochs(),
            rejections=[rejection_status(rejection) for rejection in rejections],
            figures=figures,
            bottleneck=find_bottleneck(found, figures.get("recent_t_session", figures.get("t_session"))),
            rejected=rejected,
            t_session=t_session(replica for replica in replicas if replica.stage == TRAINER),
            finished=self.finished,
        )

    def tallies(self) -> Tallies:
        """Return what happened so far; of second copies, as of the last `refresh`."""
        with self._lock:
            return Tallies(self._leases.leases, self._leases.leased, self._leases.reissued, **self._copies)

    def _count_events(self) -> None:
        """Add the events since the last call to the ledger's counts, for the audit. Queries Redis."""
        with self._lock:
            self._unreported["reissued"].update(self._leases.take_reissued())
            reporting = {event: Counter(counts) for event, counts in self._unreported.items()}
        for event, counts in reporting.items():
            self._ledger.count_events(event, counts)
            with self._lock:
                self._unreported[event] -= counts  # later counts follow next time; all of them if Redis is away

    def _begin(self, start: Start) -> None:
        settled = {epoch: self._ledger.settled(epoch) for epoch in self._ledger.epochs() if epoch >= start.epoch}
        with self._lock:
            if self._generation > start.generation:
                raise StaleGeneration(start.generation, self._generation)
            if self._generation == start.generation:  # by the same call, made before; it may have ended since
                return
            self._leases.start_generation(start.epoch, start.last_epoch, settled)
            if start.complete:
                self._leases.close()
            self._ledger_progress, self._start = {}, start
        log.info("generation_started", **start._asdict())


def _figures(figures: Mapping[str, float]) -> dict[str, float]:
    """Return the figures that are kept: as many as status can show, of names that it can show."""
    return dict([item for item in figures.items() if len(item[0]) <= _LONGEST_NAME][:_MOST_FIGURES])

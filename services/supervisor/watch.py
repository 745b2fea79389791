"""The watch over a local cluster: requests the status every second, restarts processes that hang or block the run."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import grpc
import redis.asyncio
import structlog
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from services.coordination.durations import seconds
from services.coordination.status_client import by_stage
from services.process.channels import open_aio_channel
from services.supervisor.child import Child
from services.supervisor.gang import Gang
from sonorant.errors import SonorantError
from sonorant.fleet.silence import SilenceWatch
from sonorant.fleet.stall import COORDINATOR, REDIS, TRAINER, GiveUp, Scene, StageScene, StallWatch
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

if TYPE_CHECKING:
    from sonorant.v1.coordinator_pb2_grpc import CoordinatorAsyncStub

__all__ = ["MAX_ITERATION_S", "ClusterWatch", "Stalled", "Watched"]

log = structlog.get_logger()

MAX_ITERATION_S = 600.0
"""Limit of one iteration of a rank's loop, and of loading a process."""

_LOOK_EVERY_S = 1.0
_ANSWER_S = 2.0
_SILENT_S = 15.0  # of a process that lives: what is stopped for a few seconds goes on by itself
_MARKS = ("step", "evaluated")


class Stalled(SonorantError):
    """A standstill that restarts did not end."""

    exit_code = 75


@dataclass(frozen=True)
class Watched:
    """The watched processes, by stage, and ranks; `replica` gives the present name of a stage's process."""

    redis: Child
    coordinator: Child
    stages: Mapping[str, Sequence[Child]]
    ranks: int
    replica: Callable[[Child], str]

    def children(self, name: str) -> Sequence[Child]:
        """Return the processes of a name of the stall rule; none for the trainer."""
        alone = {REDIS: [self.redis], COORDINATOR: [self.coordinator], TRAINER: []}
        return alone[name] if name in alone else self.stages[name]


class ClusterWatch:
    """Checks once a second, until cancelled, and acts.

    show: gets the coordinator's status; notify: gets lines for the terminal. stall_after_s: see the recipe's
    `pipeline`; 0: no run is given up. dead_after_s: silence after which the coordinator takes a replica for dead.
    Raises `Stalled` if no restart ends a standstill.
    """

    def __init__(
        self,
        watched: Watched,
        gang: Gang,
        redis_url: str,
        address: str,
        stall_after_s: float,
        dead_after_s: float,
        show: Callable[[pb.GetStatusResponse], None],
        notify: Callable[[str], None],
    ) -> None:
        self._watched = watched
        self._gang = gang
        self._redis_url = redis_url
        self._address = address
        self._show = show
        self._notify = notify
        self._silence = SilenceWatch(max(_SILENT_S, 4 * dead_after_s))
        self._stall = StallWatch(stall_after_s, MAX_ITERATION_S) if stall_after_s else None

    async def run(self) -> None:
        """Check, and act."""
        client = redis.asyncio.Redis.from_url(
            self._redis_url, socket_timeout=_ANSWER_S, socket_connect_timeout=_ANSWER_S, retry=Retry(NoBackoff(), 0)
        )
        async with client, open_aio_channel(self._address) as channel:
            stub = cast("CoordinatorAsyncStub", CoordinatorStub(channel))
            looked_s = time.monotonic()
            while True:
                answers, status = await asyncio.gather(_answers(client), _status(stub))
                if status is not None:
                    with suppress(OSError):  # the terminal has gone
                        self._show(status)
                now_s = time.monotonic()
                self._look(now_s - looked_s, answers, status)
                looked_s = now_s
                await asyncio.sleep(_LOOK_EVERY_S)

    def _look(self, elapsed_s: float, redis_answers: bool, status: pb.GetStatusResponse | None) -> None:
        self._end_silent(elapsed_s, redis_answers, status)
        if self._stall is None:
            return
        verdict = self._stall.look(elapsed_s, _scene(redis_answers, status, self._watched.stages))
        if isinstance(verdict, GiveUp):
            raise Stalled(f"{verdict.because}; restarts did not help; look at the logs; the same command goes on")
        if verdict is not None:
            log.warning("stalled", restarting=verdict.name, because=verdict.because)
            self._report(f"{verdict.because}; {verdict.name} is restarted")
            for child in self._watched.children(verdict.name):
                child.abort()
            if verdict.name == TRAINER:
                self._gang.abort()

    def _end_silent(self, elapsed_s: float, redis_answers: bool, status: pb.GetStatusResponse | None) -> None:
        """End processes that run and are silent."""
        targets: dict[str, Child | Gang] = {REDIS: self._watched.redis, COORDINATOR: self._watched.coordinator}
        alive = {name for name, answers in ((REDIS, redis_answers), (COORDINATOR, status is not None)) if answers}
        if status is not None:  # only the coordinator has the names of replicas
            for children in self._watched.stages.values():
                targets |= {self._watched.replica(child): child for child in children}
            if not status.finished:  # else ranks leave one by one
                targets |= {f"{TRAINER}-{rank}": self._gang for rank in range(self._watched.ranks)}
            alive |= self._beating(status)
        running = {name: process for name, target in targets.items() if (process := target.running) is not None}
        lives = {name: process.pid for name, process in running.items()}
        stopped = [name for name, process in running.items() if name not in alive and process.stopped]
        hung = self._silence.look(elapsed_s, lives, alive, stopped)
        for target, name in {targets[name]: name for name in hung}.items():
            log.warning("process_hangs", name=name, pid=lives[name])
            self._report(f"{name} runs without a sign of life; it is restarted")
            target.abort()

    def _beating(self, status: pb.GetStatusResponse) -> set[str]:
        """Return the processes whose heartbeats reach the coordinator; ranks keep the names of the gang before."""
        age_s = time.monotonic() - self._gang.started_s
        return {r.replica for r in status.replicas if r.stage != TRAINER or seconds(r.heartbeat_age) < age_s}

    def _report(self, line: str) -> None:
        with suppress(OSError):
            self._notify(line)


async def _answers(client: "redis.asyncio.Redis") -> bool:
    """Return whether Redis answers at all, also while it still loads its append-only file."""
    try:
        await client.ping()
    except redis.BusyLoadingError:
        return True
    except (redis.RedisError, OSError) as error:
        return isinstance(error, redis.ResponseError)
    return True


async def _status(stub: "CoordinatorAsyncStub") -> pb.GetStatusResponse | None:
    try:
        return await stub.GetStatus(pb.GetStatusRequest(), timeout=_ANSWER_S)
    except grpc.RpcError:
        return None


def _scene(redis_answers: bool, status: pb.GetStatusResponse | None, stages: Iterable[str]) -> Scene:
    """Return the input of the stall rule."""
    if status is None:
        return Scene(redis=redis_answers, coordinator=False)
    replicas = by_stage(status.replicas)
    marks = {name: status.figures[name] for name in _MARKS if name in status.figures}
    marks |= {f"epoch {epoch.epoch}": epoch.committed + epoch.rejected for epoch in status.epochs}
    ranks = replicas.get(TRAINER, [])
    return Scene(
        redis=redis_answers,
        generation=status.generation,
        marks=marks,
        stages=[
            StageScene(
                stage,
                registered=len(there),
                queued=sum(r.queued for r in there),
                handed_on=sum(r.examples for r in there),
            )
            for stage, there in ((stage, replicas.get(stage, [])) for stage in stages)
        ],
        ranks=len(ranks),
        waited_s=sum(seconds(rank.waited) for rank in ranks) / max(1, len(ranks)),
        finished=status.finished,
    )

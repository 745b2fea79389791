"""A whole training on one machine: Redis, coordinator, stages and trainer as processes, under one supervisor."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import structlog

from services.process.restarts import RestartPolicy
from services.process.signals import TOGETHER_S
from services.stage.wiring import program
from services.supervisor.child import Child
from services.supervisor.gang import Gang, mpirun
from services.supervisor.redis_server import LocalRedis
from services.supervisor.replica import Replica
from services.supervisor.watch import MAX_ITERATION_S, ClusterWatch, Watched
from sonorant.atomic import make_folder
from sonorant.errors import Unavailable
from sonorant.recipe import Recipe
from sonorant.recipe.layout import stage_order
from sonorant.run_folder import RunFolder
from sonorant.training.completion import complete_totals
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["Interrupted", "LocalCluster", "rank_threads"]

log = structlog.get_logger()

_READY_S = 60.0
_STAGE_ITERATION_S = 120.0  # as long as probes leave a pod
_STAGE_GRACE_S = 1.0  # after the trainer's end nothing consumes a stage's examples
_GRACE_S = 10.0
_CHECKPOINT_S = 60.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(Exception):
    """Stopped by the user; the same command resumes."""


class LocalCluster:
    """Runs the training of a prepared run folder, whose lock the caller holds.

    data_folder: with noise recordings. show: gets the coordinator's status every second. notify: gets a line
    when a hanging process is restarted. store_url: object storage that keeps the run too, or empty. Raises
    `ProcessFailed` if a process does not stay up, `Stalled` if the run stands still whatever is restarted,
    `Interrupted` after Ctrl-C, SIGTERM or SIGHUP; all processes have left then.
    """

    def __init__(
        self,
        recipe: Recipe,
        run: RunFolder,
        data_folder: Path,
        show: Callable[[pb.GetStatusResponse], None] = lambda status: None,
        notify: Callable[[str], None] = lambda line: None,
        store_url: str = "",
        gang_policy: RestartPolicy | None = None,
    ) -> None:
        self._recipe = recipe
        self._run = run
        self._show = show
        self._notify = notify
        self._gang_policy = gang_policy or RestartPolicy(most=5, window_s=600.0, first_pause_s=1.0, last_pause_s=10.0)
        self._address_file = run.path / "coordinator.address"
        settings = {"SONORANT_DATA": str(data_folder.absolute()), "SONORANT_STORE": store_url, "PYTHONUNBUFFERED": "1"}
        self._environment = os.environ | settings
        self._keepers: dict[Child, asyncio.Task[None]] = {}
        self._failed: asyncio.Future[None]
        self._gang: Gang | None = None
        self._interrupted_at = 0.0
        self._watching: asyncio.Task[None] | None = None

    def run(self) -> None:
        """Train to the end."""
        asyncio.run(self._supervise())

    async def _supervise(self) -> None:
        loop = asyncio.get_running_loop()
        self._failed = loop.create_future()
        redis = LocalRedis(self._run.redis)
        work = asyncio.create_task(self._work(redis))
        interrupted = asyncio.Event()
        for number in _SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has SIGHUP
                loop.add_signal_handler(number, self._on_signal, interrupted)
        requested = asyncio.create_task(interrupted.wait())
        try:
            waited_for: set[asyncio.Future[Any]] = {work, requested, self._failed}
            await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
            if self._failed.done():
                self._failed.result()
            if interrupted.is_set():
                raise Interrupted
            work.result()
        finally:
            requested.cancel()
            if not self._failed.done():
                self._failed.cancel()
            await self._stop(work)
            redis.remove_socket()

    def _on_signal(self, interrupted: asyncio.Event) -> None:
        """Drain at the first signal, kill at a later one."""
        now = time.monotonic()
        if not interrupted.is_set():
            log.info("interrupted")
            self._interrupted_at = now
            interrupted.set()
        elif self._gang is not None and now - self._interrupted_at > TOGETHER_S:
            self._gang.kill()

    async def _work(self, redis_server: LocalRedis) -> None:
        make_folder(self._run.logs)
        redis_log = self._log("redis")
        redis = Child("redis", lambda _: redis_server.command_after(redis_log), redis_log, self._environment)
        self._keep(redis)
        await redis_server.wait_ready(_READY_S, redis_log)
        coordinator = self._coordinator(redis_server.url)
        self._keep(coordinator)
        address = await self._address()
        stages = {stage: self._replicas(stage, address) for stage in stage_order(self._recipe)}
        for replicas in stages.values():
            for child in replicas:
                self._keep(child)
        self._gang = self._make_gang(address, redis_server.url)
        watched = Watched(redis, coordinator, stages, self._recipe.training.ranks, _replica)
        pipeline = self._recipe.pipeline
        times = (pipeline.stall_after_s, pipeline.dead_after_s)
        watch = ClusterWatch(watched, self._gang, redis_server.url, address, *times, self._show, self._notify)
        self._watching = asyncio.create_task(watch.run())
        self._watching.add_done_callback(self._note_failure)
        try:
            await self._gang.keep()
        finally:
            self._watching.cancel()

    async def _stop(self, work: asyncio.Task[None]) -> None:
        """Stop the trainer first, so that it can write its checkpoint; then stages, coordinator and Redis."""
        if self._watching is not None:
            self._watching.cancel()
        if self._gang is not None:
            await self._gang.stop(_CHECKPOINT_S)
        work.cancel()
        with suppress(asyncio.CancelledError, Exception):  # its error, if any, is being raised already
            await work
        children = list(self._keepers)
        redis_and_coordinator, stages = children[:2], children[2:]
        await asyncio.gather(*(child.stop(_STAGE_GRACE_S) for child in stages))
        for child in reversed(redis_and_coordinator):
            await child.stop(_GRACE_S)
        for keeper in self._keepers.values():
            keeper.cancel()

    def _keep(self, child: Child) -> None:
        keeper = asyncio.create_task(child.keep())
        keeper.add_done_callback(self._note_failure)
        self._keepers[child] = keeper

    def _note_failure(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self._failed.done():
            self._failed.set_exception(error)

    def _coordinator(self, redis_url: str) -> Child:
        self._address_file.unlink(missing_ok=True)

        def command(restarts: int) -> list[str]:
            known = self._address_file.exists()  # it may have ended before it wrote it
            port = self._address_file.read_text().strip().rpartition(":")[2] if known else "0"
            arguments = ["--run", str(self._run.path), "--redis", redis_url, "--port", port]
            return [sys.executable, "-m", "services.coordinator", *arguments, "--port-file", str(self._address_file)]

        return Child("coordinator", command, self._log("coordinator"), self._environment)

    async def _address(self) -> str:
        """Wait for the coordinator; return its address, the same after restarts."""
        deadline = time.monotonic() + _READY_S
        while not self._address_file.exists():
            if time.monotonic() > deadline:
                raise Unavailable(f"the coordinator is not ready after {_READY_S:g} s; see {self._log('coordinator')}")
            await asyncio.sleep(0.05)
        return self._address_file.read_text().strip()

    def _replicas(self, stage: str, address: str) -> list[Child]:
        count = self._recipe.pipeline.replicas.get(stage, 1)
        return [self._stage(f"{stage}-{number}", stage, address) for number in range(count)]

    def _stage(self, name: str, stage: str, address: str) -> Child:
        def command(restarts: int) -> list[str]:
            return [
                *(sys.executable, "-m", *program(stage), "--run", str(self._run.path)),
                *("--coordinator", address, "--replica", _replica(child), "--stay"),
                *("--max-iteration-s", str(_STAGE_ITERATION_S)),
            ]

        child = Replica(name, command, self._log(name), self._environment)
        return child

    def _make_gang(self, address: str, redis_url: str) -> Gang:
        ranks = self._recipe.training.ranks
        trainer = ["-m", "services.trainer", "--run", str(self._run.path), "--coordinator", address]
        threads = ["--threads", str(rank_threads(ranks)), "--max-iteration-s", str(MAX_ITERATION_S)]
        command = mpirun(ranks, [*trainer, "--redis", redis_url, *threads])
        return Gang(
            command,
            self._log("trainer"),
            self._environment,
            self._is_complete,
            self._newest_checkpoint,
            self._gang_policy,
        )

    def _is_complete(self) -> bool:
        """Whether training is complete by this recipe, which may have been extended since an earlier end."""
        return complete_totals(self._run, self._recipe) is not None

    def _newest_checkpoint(self) -> str:
        try:
            return (self._run.checkpoints / "latest").read_text().strip()
        except OSError:
            return ""

    def _log(self, name: str) -> Path:
        return self._run.logs / f"{name}.log"


def _replica(child: Child) -> str:
    """Return the name of a stage's process, new after each restart, so that the coordinator detects its death."""
    return f"{child.name}.{os.getpid()}.{child.restarts}"


def rank_threads(ranks: int) -> int:
    """Return the threads of each rank's operations: one core is left to the stages.

    On two cores a step of the digits recipe costs 0.25 CPU seconds with one thread; with two it costs 0.33, and is not
    over any sooner.
    """
    return max(1, (len(os.sched_getaffinity(0)) - 1) // ranks)

"""A whole training on one machine: Redis, coordinator, stages and trainer as processes, under one supervisor."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import grpc
import structlog

from services.local.child import Child, ProcessFailed
from services.local.gang import Gang, mpirun
from services.local.lock import locked
from services.local.redis_server import LocalRedis
from services.runtime.channels import open_aio_channel
from services.runtime.restarts import RestartPolicy
from services.runtime.wiring import program, stage_order
from sonorant.atomic import make_folder
from sonorant.errors import Unavailable
from sonorant.recipe import Recipe
from sonorant.run_folder import RunFolder
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

if TYPE_CHECKING:
    from sonorant.v1.coordinator_pb2_grpc import CoordinatorAsyncStub

__all__ = ["Interrupted", "LocalCluster"]

log = structlog.get_logger()

_READY_S = 30.0
_LOOK_EVERY_S = 1.0
_STAGE_GRACE_S = 1.0  # once the trainer has left, nobody takes what a stage would hand on
_GRACE_S = 10.0


class Interrupted(Exception):
    """The user asked to stop; the same command goes on."""


class LocalCluster:
    """Runs the training of a prepared run folder; `show` gets the coordinator's status every second.

    data_folder: where stages find noise recordings. store_url: object storage that keeps the run too, or empty. Raises
    `Unavailable` if the folder is in use, `ProcessFailed` if a process does not stay up, `Interrupted` after Ctrl-C or
    SIGTERM, when all processes have left.
    """

    def __init__(
        self,
        recipe: Recipe,
        run: RunFolder,
        data_folder: Path,
        show: Callable[[pb.GetStatusResponse], None] = lambda status: None,
        store_url: str = "",
        gang_policy: RestartPolicy | None = None,
    ) -> None:
        self._recipe = recipe
        self._run = run
        self._show = show
        self._gang_policy = gang_policy or RestartPolicy(most=5, window_s=600.0, first_pause_s=1.0, last_pause_s=10.0)
        self._address_file = run.path / "coordinator.address"
        told = {"SONORANT_DATA": str(data_folder.absolute()), "SONORANT_STORE": store_url, "PYTHONUNBUFFERED": "1"}
        self._environment = os.environ | told
        self._keepers: dict[Child, asyncio.Task[None]] = {}
        self._failed: asyncio.Future[None]
        self._gang: Gang | None = None

    def run(self) -> None:
        """Train to the end."""
        with locked(self._run.path):
            asyncio.run(self._supervise())

    async def _supervise(self) -> None:
        loop = asyncio.get_running_loop()
        self._failed = loop.create_future()
        redis = LocalRedis(self._run.redis)
        work = asyncio.create_task(self._work(redis))
        interrupted = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, lambda: self._on_signal(interrupted))
        asked = asyncio.create_task(interrupted.wait())
        try:
            waited_for: set[asyncio.Future[Any]] = {work, asked, self._failed}
            await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
            if self._failed.done():
                self._failed.result()
            if interrupted.is_set():
                raise Interrupted
            work.result()
        finally:
            asked.cancel()
            if not self._failed.done():
                self._failed.cancel()
            await self._stop(work)
            redis.remove_socket()

    def _on_signal(self, interrupted: asyncio.Event) -> None:
        """Drain at the first signal, kill at the second."""
        if interrupted.is_set():
            if self._gang is not None:
                self._gang.kill()
            return
        log.info("interrupted")
        interrupted.set()

    async def _work(self, redis: LocalRedis) -> None:
        make_folder(self._run.logs)
        await self._keep(Child("redis", lambda _: redis.command, self._log("redis"), self._environment))
        await redis.wait_ready(_READY_S, self._log("redis"))
        address = await self._start_coordinator(redis.url)
        for name, stage in self._replicas():
            await self._keep(self._stage(name, stage, address))
        self._gang = self._make_gang(address, redis.url)
        watching = asyncio.create_task(self._watch(address))
        try:
            await self._gang.run()
        finally:
            watching.cancel()

    async def _stop(self, work: asyncio.Task[None]) -> None:
        """Stop the trainer first, so that its checkpoint finds everyone there; then stages, coordinator and Redis."""
        if self._gang is not None:
            await self._gang.stop()
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

    async def _keep(self, child: Child) -> None:
        await child.start()
        self._watch_over(child)

    def _watch_over(self, child: Child) -> None:
        keeper = asyncio.create_task(child.keep())
        keeper.add_done_callback(self._note_failure)
        self._keepers[child] = keeper

    def _note_failure(self, keeper: asyncio.Task[None]) -> None:
        if not keeper.cancelled() and (error := keeper.exception()) is not None and not self._failed.done():
            self._failed.set_exception(error)

    def _revive(self) -> None:
        """Start stages again that left because the run seemed over; a new gang needs them."""
        for child, keeper in list(self._keepers.items()):
            if keeper.done() and not keeper.cancelled() and keeper.exception() is None:
                child.forget()
                self._watch_over(child)

    async def _start_coordinator(self, redis_url: str) -> str:
        self._address_file.unlink(missing_ok=True)

        def command(restarts: int) -> list[str]:
            port = self._address_file.read_text().strip().rpartition(":")[2] if restarts else "0"
            arguments = ["--run", str(self._run.path), "--redis", redis_url, "--port", port]
            return [sys.executable, "-m", "services.coordinator", *arguments, "--port-file", str(self._address_file)]

        child = Child("coordinator", command, self._log("coordinator"), self._environment)
        process = await child.start()
        deadline = time.monotonic() + _READY_S
        while not self._address_file.exists():
            if process.code is not None:
                raise ProcessFailed("coordinator", process.code, self._log("coordinator"))
            if time.monotonic() > deadline:
                raise Unavailable(f"the coordinator is not ready after {_READY_S:g} s; see {self._log('coordinator')}")
            await asyncio.sleep(0.05)
        self._watch_over(child)
        return self._address_file.read_text().strip()

    def _replicas(self) -> Iterable[tuple[str, str]]:
        """Yield name and stage of each replica of the recipe."""
        for stage in stage_order(self._recipe):
            for number in range(self._recipe.pipeline.replicas.get(stage, 1)):
                yield f"{stage}-{number}", stage

    def _stage(self, name: str, stage: str, address: str) -> Child:
        def command(restarts: int) -> list[str]:
            unique = f"{name}.{os.getpid()}.{restarts}"
            return [
                *(sys.executable, "-m", *program(stage), "--run", str(self._run.path)),
                *("--coordinator", address, "--replica", unique),
            ]

        return Child(name, command, self._log(name), self._environment)

    def _make_gang(self, address: str, redis_url: str) -> Gang:
        ranks = self._recipe.training.ranks
        trainer = ["-m", "services.trainer", "--run", str(self._run.path), "--coordinator", address]
        command = mpirun(ranks, [*trainer, "--redis", redis_url, "--threads", str(_rank_threads(ranks))])
        return Gang(command, self._log("trainer"), self._environment, self._revive, self._gang_policy)

    async def _watch(self, address: str) -> None:
        """Show the coordinator's status every second, as long as there is one."""
        async with open_aio_channel(address) as channel:
            stub = cast("CoordinatorAsyncStub", CoordinatorStub(channel))
            while True:
                with suppress(grpc.RpcError):
                    self._show(await stub.GetStatus(pb.GetStatusRequest(), timeout=_LOOK_EVERY_S))
                await asyncio.sleep(_LOOK_EVERY_S)

    def _log(self, name: str) -> Path:
        return self._run.logs / f"{name}.log"


def _rank_threads(ranks: int) -> int:
    """Return the threads of each rank's operations: one core is left to the stages.

    On two cores a step of the digits recipe costs 0.25 CPU seconds with one thread; with two it costs 0.33, and is not
    over any sooner.
    """
    return max(1, (len(os.sched_getaffinity(0)) - 1) // ranks)

"""A training run without its trainer: real Redis, coordinator and stages; the benchmark consumes."""

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc

from benchmarks.rigs.corpus import write_corpus
from services.coordination.redis_ledger import RedisLedger
from services.stage.wiring import program
from services.supervisor.redis_server import LocalRedis
from services.trainer.example_source import LinkedExampleSource
from sonorant.recipe.layout import stage_order
from sonorant.recipe.loading import dump_recipe
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

__all__ = ["EPOCHS", "PipelineRun"]

EPOCHS = 10_000
_PATIENCE_S = 60.0
_QUIET_S, _QUIET_CPU_S = 0.3, 0.05  # less than that in that time: only signs of life


class PipelineRun:
    """Starts the processes of `recipe`; examples are consumed by `take`, or by the caller through `source`.

    examples: size of the corpus; seconds: length of each. ledger_url: the Redis of the run, in generation 1.
    """

    def __init__(self, recipe: Recipe, examples: int, seconds: float) -> None:
        self._recipe, self._exit = recipe, ExitStack()
        folder = RunFolder(Path(self._exit.enter_context(tempfile.TemporaryDirectory(prefix="sonorant-bench-"))))
        self.folder = folder
        write_corpus(folder.shards, examples, seconds, recipe.corpus.sample_rate_hz)
        folder.recipe.write_text(dump_recipe(recipe), encoding="utf-8")
        self._log = self._exit.enter_context((folder.path / "log").open("wb"))
        redis = LocalRedis(folder.redis)
        self._exit.callback(redis.remove_socket)
        self._start(redis.command)
        asyncio.run(redis.wait_ready(_PATIENCE_S, folder.path / "log"))
        ledger = RedisLedger(redis.url, examples)
        ledger.restore(1, None)
        ledger.close()
        self.ledger_url = redis.url
        self._coordinator = coordinator = self._start_coordinator(redis.url)
        self._stages = {
            stage: [
                self._start_service(program(stage), "--coordinator", coordinator)
                for _ in range(recipe.pipeline.replicas.get(stage, 1))
            ]
            for stage in stage_order(recipe)
        }
        self.source = self._exit.enter_context(LinkedExampleSource(recipe, coordinator, "bench", 1))

    def take(self, count: int) -> None:
        """Consume `count` examples, and wait until the stages' queues are full again, as they were before."""
        taken, deadline_s = 0, time.monotonic() + _PATIENCE_S
        self.source.grant(count)
        while taken < count:
            if time.monotonic() > deadline_s:
                raise TimeoutError(f"{taken} of {count} examples came; log:\n{(self.folder.path / 'log').read_text()}")
            taken += len(self.source.take(0.5))
        before = now = 0.0
        while now - before > _QUIET_CPU_S or not now:
            time.sleep(_QUIET_S)
            before, now = now, sum(self.cpu_s().values())

    def queued(self) -> dict[str, float]:
        """Return how many examples wait in each stage, as of its last heartbeat."""
        with grpc.insecure_channel(self._coordinator, [("grpc.enable_http_proxy", 0)]) as channel:
            status = CoordinatorStub(channel).GetStatus(pb.GetStatusRequest(), timeout=_PATIENCE_S)
        return {stage: sum(r.queued for r in status.replicas if r.stage == stage) for stage in self._stages}

    def cpu_s(self) -> dict[str, float]:
        """Return the CPU seconds of each stage's processes so far."""
        return {stage: sum(_cpu_s(process.pid) for process in started) for stage, started in self._stages.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: TracebackType | type | BaseException | None) -> None:
        self._exit.close()

    def _start_coordinator(self, redis_url: str) -> str:
        port_file = self.folder.path / "coordinator"
        self._start_service(("services.coordinator",), "--redis", redis_url, "--port-file", str(port_file))
        deadline_s = time.monotonic() + _PATIENCE_S
        while not port_file.exists():
            if time.monotonic() > deadline_s:
                raise TimeoutError((self.folder.path / "log").read_text())
            time.sleep(0.05)
        address = port_file.read_text(encoding="utf-8").strip()
        request = pb.StartGenerationRequest(generation=1, epoch=0, last_epoch=EPOCHS)
        with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
            CoordinatorStub(channel).StartGeneration(request, timeout=_PATIENCE_S, wait_for_ready=True)
        return address

    def _start_service(self, module: Sequence[str], *arguments: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", *module, "--run", str(self.folder.path), *arguments]
        return self._start(command)

    def _start(self, command: list[str]) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(command, stdout=self._log, stderr=self._log)
        self._exit.callback(_end, process)
        return process


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()


def _cpu_s(pid: int) -> float:
    # In nanoseconds; what /proc/PID/stat has is in hundredths of a second.
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text(encoding="ascii").split()[0]) for task in tasks) / 1e9

"""A control plane to load: real Redis and coordinator, and as many ranks and replicas as there are connections for."""

import asyncio
import subprocess
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Self

import grpc
import numpy as np

from services.coordination.redis_ledger import RedisLedger, Start
from services.coordinator.control import ControlPlane
from services.coordinator.server import CoordinatorServer
from services.supervisor.redis_server import LocalRedis
from sonorant.delivery.bitmap import Bitmap
from sonorant.delivery.lease import LeaseBook
from sonorant.delivery.order import EpochOrder
from sonorant.recipe.schema import Recipe
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

__all__ = ["LedgerUnderLoad", "book_cost", "coordinator", "fleet", "resident_mb"]

SHARD, LEASE = 5000, 32
_PATIENCE_S = 60.0
_CHANNELS = 32


def shards(total: int) -> tuple[int, ...]:
    """Return the sizes of a corpus' shards."""
    return (SHARD,) * (total // SHARD)


class LedgerUnderLoad:
    """A Redis as `sonorant train` runs it, and ranks that claim and commit in the epoch's order as fast as they can.

    Each thread plays one rank after the other.
    """

    def __init__(self, total: int, ranks: int, threads: int) -> None:
        self._exit = ExitStack()
        folder = Path(self._exit.enter_context(tempfile.TemporaryDirectory(prefix="sonorant-bench-")))
        local = LocalRedis(folder)
        self._exit.callback(local.remove_socket)
        log = self._exit.enter_context((folder / "log").open("wb"))
        self._redis = subprocess.Popen(local.command, stdout=log, stderr=log)
        self._exit.callback(_end, self._redis)
        asyncio.run(local.wait_ready(_PATIENCE_S, folder / "log"))
        self.url, self.total = local.url, total
        self._threads = threads
        self._ledgers = [RedisLedger(local.url, total) for _ in range(ranks)]
        for ledger in self._ledgers:
            self._exit.callback(ledger.close)
        self._ledgers[0].restore(1, None)
        self._orders = [EpochOrder(shards(total), 1, epoch, LEASE) for epoch in (0, 1)]
        self._lock = threading.Lock()
        self._next = [0, 0]
        self._held: list[tuple[int, list[int]]] = [(0, [])] * ranks

    def steps(self, epoch: int, count: int, batch: int) -> None:
        """Let ranks make `count` steps in all; each commits what its last step claimed, and claims `batch` more."""
        portions = np.array_split(np.arange(count), self._threads)
        threads = [threading.Thread(target=self._play, args=(epoch, n, len(p), batch)) for n, p in enumerate(portions)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def memory_mb(self) -> float:
        """Return what Redis holds of the ledger; connections have their buffers beside it."""
        client = self._ledgers[0]._redis
        return float(sum(client.memory_usage(key, samples=0) or 0 for key in client.keys("sonorant:*"))) / 1e6

    def cpu_s(self) -> float:
        """Return the CPU seconds of Redis' main thread so far: it is the one that executes commands."""
        return cpu_s(self._redis.pid)

    def commands(self) -> int:
        """Return how many scripts were called so far."""
        return int(self._ledgers[0]._redis.info("commandstats")["cmdstat_evalsha"]["calls"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: TracebackType | type | BaseException | None) -> None:
        self._exit.close()

    def _play(self, epoch: int, number: int, count: int, batch: int) -> None:
        mine = range(number, len(self._ledgers), self._threads)
        for step in range(count):
            rank = mine[step % len(mine)]
            wanted = self._take(epoch, batch)
            granted = self._ledgers[rank].commit_and_claim(1, self._held[rank], (epoch, wanted))
            assert all(granted)
            self._held[rank] = (epoch, wanted)

    def _take(self, epoch: int, batch: int) -> list[int]:
        ordinals: list[int] = []
        while len(ordinals) < batch:
            with self._lock:
                position, self._next[epoch] = self._next[epoch], self._next[epoch] + 1
            ordinals += self._orders[epoch].ordinals(position).tolist()
        return ordinals


def coordinator(connection: Connection, total: int, redis_url: str) -> None:
    """Run a coordinator that leases an epoch of `total` examples; answer with its CPU seconds, then with its port."""
    recipe = Recipe.model_validate(
        {
            "version": 1,
            "name": "bench",
            "corpus": {"reader": "fsdd", "path": "none", "sample_rate_hz": 8000},
            "pipeline": {"lease_examples": LEASE, "lease_timeout_s": 600, "dead_after_s": 600},
        }
    )

    async def serve() -> None:
        ledger = RedisLedger(redis_url, total)
        control = ControlPlane(recipe, shards(total), ledger)
        control.start_generation(Start(1, 0, 0))
        server = CoordinatorServer(control, recipe.pipeline)
        port = await server.start("127.0.0.1:0")
        while (await asyncio.to_thread(connection.recv)) is not None:
            connection.send((port, time.process_time()))
        await server.stop(0)
        ledger.close()

    asyncio.run(serve())


def fleet(connection: Connection, address: str, total: int, replicas: int, ranks: int) -> None:
    """Play stage replicas and ranks; answer "beats S", "arrivals S" and "leases S" with how many there were in S s."""
    asyncio.run(_Fleet(address, total, replicas, ranks).answer(connection))


class _Fleet:
    def __init__(self, address: str, total: int, replicas: int, ranks: int) -> None:
        self._address, self._shards = address, len(shards(total))
        self._names = [f"vtlp-{number}" for number in range(replicas)]
        self._ranks = [f"trainer-{number}" for number in range(ranks)]

    async def answer(self, connection: Connection) -> None:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0)]
        channels = [grpc.aio.insecure_channel(self._address, options) for _ in range(_CHANNELS)]
        self._stubs = [CoordinatorStub(channel) for channel in channels]
        await asyncio.gather(*(self._register(at) for at in range(_CHANNELS)))
        while (question := await asyncio.to_thread(connection.recv)) is not None:
            what, seconds = question.split()
            connection.send(await self._load(getattr(self, f"_{what}"), float(seconds)))
        for channel in channels:
            await channel.close()

    async def _register(self, at: int) -> None:
        for name in [*self._names, *self._ranks][at::_CHANNELS]:
            request = pb.RegisterRequest(stage=name.partition("-")[0], replica=name, endpoint=f"tcp://{name}:5555")
            await self._stubs[at].Register(request)  # type: ignore[misc]

    async def _load(self, call: Callable[[int, float], Awaitable[int]], seconds: float) -> int:
        end_s = time.monotonic() + seconds
        return sum(await asyncio.gather(*(call(at, end_s) for at in range(_CHANNELS))))

    async def _beats(self, at: int, end_s: float) -> int:
        count, mine = 0, self._names[at::_CHANNELS]
        beat = pb.HeartbeatRequest(examples=30, queued=16)
        beat.busy.FromMilliseconds(400)
        beat.elapsed.FromMilliseconds(500)
        while time.monotonic() < end_s:
            beat.replica = mine[count % len(mine)]
            await self._stubs[at].Heartbeat(beat)  # type: ignore[misc]
            count += 1
        return count

    async def _arrivals(self, at: int, end_s: float) -> int:
        count, rng = 0, np.random.default_rng(at)
        while time.monotonic() < end_s:
            sets = [pb.RecordSet(epoch=0, shard=int(s), indexes=range(LEASE)) for s in rng.integers(0, self._shards, 4)]
            beat = pb.HeartbeatRequest(replica=self._ranks[at % len(self._ranks)], generation=1, arrived=sets)
            await self._stubs[at].Heartbeat(beat)  # type: ignore[misc]
            count += 4 * LEASE
        return count

    async def _leases(self, at: int, end_s: float) -> int:
        count = 0
        while time.monotonic() < end_s:
            answer = await self._stubs[at].AcquireLease(pb.AcquireLeaseRequest(replica=self._names[at]))  # type: ignore[misc]
            count += len(answer.records.indexes)
        return count


def book_cost(connection: Connection, total: int) -> None:
    """Open two epochs of leases; answer with seconds and megabytes that both took."""
    counts = shards(total)
    Bitmap(8).add([0])  # numpy is warm
    while connection.recv() is not None:
        before_mb, started_s = resident_mb(), time.process_time()
        books = []
        for epoch in (0, 1):
            book = LeaseBook(counts, seed=1, lease_examples=LEASE, lease_timeout_s=60, lookahead_examples=512)
            book.start_generation(epoch, 1, {epoch: Bitmap(total)})
            assert book.acquire("r", 0.0) is not None
            books.append(book)
        connection.send((time.process_time() - started_s, resident_mb() - before_mb))


def resident_mb() -> float:
    """Return the memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process' main thread."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()

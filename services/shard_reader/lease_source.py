"""A shard reader's source: the records that the coordinator leases to it."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

from services.stage.runtime import Runtime
from services.stage.source import MACHINE_FAILED
from sonorant.corpus.shards import ShardSet
from sonorant.delivery.example import Example, Lineage
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["LeaseSource"]


class LeaseSource:
    """Reads leased records one by one, while at most `credits` of them are here; acquires the next lease meanwhile.

    A damaged record is rejected with its reason, and the next one is read. `take` raises errors of the
    machine, and then tries the same record again.
    """

    links = ()  # no stage comes before this one

    def __init__(self, runtime: Runtime, shards: ShardSet, credits: int) -> None:
        self._runtime = runtime
        self._shards = shards
        self._free = credits
        self._records: deque[Lineage] = deque()
        self._acquirer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="leases")
        self._over = self._closed = False

    def start(self) -> None:
        """Acquire the first lease."""
        self._next = self._acquire()

    def take(self) -> Example | None:
        """Read the next readable record; None: none is leased now, or no slot is free."""
        while self._free and (lineage := self._lineage()) is not None:
            example = self._read(lineage)
            if example is not None:
                self._free -= 1
                return example
        return None

    @property
    def ended(self) -> bool:
        """Whether `take` will return no example any more."""
        return self._over and not self._records

    def waiting(self) -> int:
        """Return the number of leased records that are not read yet, plus 1 if an acquired lease will never be read."""
        return len(self._records) + (self._closed and not self._over)

    def release(self) -> None:
        """Free the slot of an example that has left the replica."""
        self._free += 1

    def drain(self) -> None:
        """Acquire no further lease; leased records are still read."""
        self._runtime.client.stop_leasing()

    def close(self) -> None:
        """Acquire nothing more, and drop what is leased."""
        self._closed = True
        self._runtime.client.stop_leasing()
        self._acquirer.shutdown(wait=False, cancel_futures=True)

    def _acquire(self) -> Future[pb.AcquireLeaseResponse | None]:
        answer = self._acquirer.submit(self._runtime.client.acquire_lease)
        answer.add_done_callback(lambda _: self._runtime.loop.wake())
        return answer

    def _lineage(self) -> Lineage | None:
        """Return the next record of this lease, or of the one that was acquired meanwhile."""
        if not self._records and not self._over and self._next.done():
            lease = self._next.result()
            if lease is None:
                self._over = True
                return None
            self._next = self._acquire()
            records = lease.records
            self._records.extend(Lineage(records.epoch, records.shard, index) for index in records.indexes)
        return self._records.popleft() if self._records else None

    def _read(self, lineage: Lineage) -> Example | None:
        try:
            return self._shards.read(lineage.shard, lineage.index).example(lineage)
        except MACHINE_FAILED:
            self._records.appendleft(lineage)
            raise
        except Exception as error:  # one record must not stop the others, whatever is wrong with it
            self._runtime.reject(lineage, "", "shard_reader", error)
            return None

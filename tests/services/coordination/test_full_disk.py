"""A real full disk under Redis: the ledger waits, or stops with a word about it; what was granted stays granted."""

import contextlib
import shutil
import threading

import pytest
import redis
from rigs.disk import small_disk_at
from rigs.ledger_calls import claim, commit
from rigs.redis import RedisServer
from rigs.waiting import eventually

from services.coordination.redis_ledger import RedisLedger
from sonorant.errors import Unavailable

TOTAL, BATCH = 4000, 100
ROOM_BYTES = 30_000  # of some 200,000 that the append-only file will need


@pytest.fixture
def disk(tmp_path):
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    with small_disk_at(tmp_path / "disk") as disk:
        yield disk


@pytest.fixture
def server(disk):
    made = []

    def make(fsync):
        made.append(RedisServer(disk.folder, fsync))
        made[0].start()
        disk.fill(ROOM_BYTES)
        return made[0]

    yield make
    for server in made:
        server.kill()


class Supervisor:
    """Starts Redis again whenever it dies, as everything that runs it does."""

    def __init__(self, server):
        self._server, self._quit, self.deaths = server, threading.Event(), 0
        self._thread = threading.Thread(target=self._keep)
        self._thread.start()

    def _keep(self):
        while not self._quit.wait(0.02):
            if self._server.process.poll() is not None:
                self.deaths += 1
                with contextlib.suppress(AssertionError):  # it may die again before it answers
                    self._server.start()

    def close(self):
        self._quit.set()
        self._thread.join()


def train(ledger, granted):
    """Commit each batch with the claim of the next."""
    before = ()
    for first in range(0, TOTAL, BATCH):
        batch = range(first, first + BATCH)
        granted += ledger.commit_and_claim(1, (0, before), (0, batch))
        before = batch
    commit(ledger, 1, 0, before)


def test_a_redis_that_dies_of_a_full_disk_is_waited_for_and_nothing_is_lost(disk, server):
    redis_server = server("always")
    ledger, granted = RedisLedger(redis_server.url, TOTAL), []
    ledger.restore(1, None)
    supervisor = Supervisor(redis_server)
    training = threading.Thread(target=train, args=(ledger, granted))
    training.start()
    try:
        eventually(lambda: supervisor.deaths >= 2)
        assert 0 < len(granted) < TOTAL
        disk.make_room()
        training.join(60)
    finally:
        supervisor.close()
    assert granted == [True] * TOTAL  # also those whose answer was lost
    assert ledger.progress(0).committed == TOTAL
    redis_server.kill()
    redis_server.start()
    assert ledger.settled(0).count() == TOTAL
    ledger.close()


def test_a_redis_that_refuses_to_write_is_waited_for_and_named_when_patience_is_over(disk, server):
    redis_server = server("everysec")
    ledger, granted = RedisLedger(redis_server.url, TOTAL, patience_s=60.0), []
    hasty = RedisLedger(redis_server.url, TOTAL, patience_s=0.1)
    ledger.restore(1, None)
    training = threading.Thread(target=train, args=(ledger, granted))
    training.start()

    def refused():
        try:
            claim(hasty, 1, 1, [0])
        except Unavailable as error:
            return "refuses to write" in str(error) and "free space on its disk" in str(error)
        return False

    eventually(refused)
    assert len(granted) < TOTAL
    disk.make_room()
    training.join(60)
    assert granted == [True] * TOTAL
    assert ledger.progress(0).committed == TOTAL
    for each in (ledger, hasty):
        each.close()


def test_a_redis_at_the_end_of_its_memory_is_named_and_goes_on_when_it_has_some(own_redis):
    ledger = RedisLedger(own_redis.url, TOTAL, patience_s=0.1)
    ledger.restore(1, None)
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("maxmemory", 1)
        with pytest.raises(Unavailable, match=r"refuses to write .*raise its maxmemory"):
            claim(ledger, 1, 0, [1])
        client.config_set("maxmemory", 0)
    assert claim(ledger, 1, 0, [1]) == [True]
    ledger.close()

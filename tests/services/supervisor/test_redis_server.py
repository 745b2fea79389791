import asyncio
import os
import signal
import subprocess

import pytest

from services.coordination.redis_ledger import RedisLedger
from services.supervisor import redis_server
from services.supervisor.child import Child
from services.supervisor.redis_server import LocalRedis
from sonorant.errors import Unavailable


@pytest.mark.parametrize("depth", [1, 12])  # the names have spaces, too
def test_redis_serves_on_a_socket_that_only_its_user_may_open(tmp_path, depth):
    folder = tmp_path.joinpath(*(["a rather long name"] * depth)) / "redis"
    server = LocalRedis(folder)
    with open(tmp_path / "redis.log", "wb") as log:
        process = subprocess.Popen(server.command, stdout=log)
    try:
        asyncio.run(server.wait_ready(20.0, tmp_path / "redis.log"))
        socket = server.url.removeprefix("unix://")
        assert len(socket) < 108
        assert os.stat(socket).st_mode & 0o077 == 0
        ledger = RedisLedger(server.url, 3)
        ledger.restore(1, None)
        ledger.close()
        assert list(folder.glob("appendonlydir/*.aof"))
    finally:
        process.kill()
        process.wait()
        server.remove_socket()


def test_redis_that_does_not_come_is_named(tmp_path):
    server = LocalRedis(tmp_path / "redis")
    with pytest.raises(Unavailable, match=r"redis\.sock does not answer after 0\.1 s"):
        asyncio.run(server.wait_ready(0.1, tmp_path / "redis.log"))


def test_redis_that_is_stopped_while_it_is_waited_for_is_named(tmp_path, monkeypatch):
    """It takes connections, as the kernel does that for it, and answers none."""
    monkeypatch.setattr(redis_server, "_ANSWER_S", 0.1)
    server = LocalRedis(tmp_path / "redis")
    with open(tmp_path / "redis.log", "wb") as log:
        process = subprocess.Popen(server.command, stdout=log)
    try:
        asyncio.run(server.wait_ready(20.0, tmp_path / "redis.log"))
        process.send_signal(signal.SIGSTOP)
        with pytest.raises(Unavailable, match=r"redis\.sock does not answer after 0\.1 s \(Timeout"):
            asyncio.run(asyncio.wait_for(server.wait_ready(0.1, tmp_path / "redis.log"), 30))
    finally:
        process.kill()
        process.wait()


def test_an_append_only_file_that_redis_cannot_read_is_moved_aside_and_no_other(tmp_path):
    server, log_file = LocalRedis(tmp_path / "redis"), tmp_path / "redis.log"

    async def life(end):
        child = Child("redis", lambda _: server.command_after(log_file), log_file, dict(os.environ))
        keeper = asyncio.create_task(child.keep())
        ready = asyncio.create_task(server.wait_ready(20.0, log_file))
        await asyncio.wait([ready, keeper], return_when=asyncio.FIRST_COMPLETED)
        assert not keeper.done(), keeper.result()
        await ready
        end(child)
        await child.stop(10.0)
        await keeper
        return child.restarts

    def write(_):
        ledger = RedisLedger(server.url, 3)
        assert ledger.generation() == 0
        ledger.restore(1, None)
        ledger.close()

    asyncio.run(life(write))
    (file,) = (tmp_path / "redis").glob("appendonlydir/*.incr.aof")
    file.write_bytes(file.read_bytes() + bytes(600))  # as a power cut leaves it
    assert asyncio.run(life(write)) == 1
    (file,) = (tmp_path / "redis").glob("appendonlydir.damaged/*.incr.aof")
    assert file.read_bytes().endswith(bytes(600))

    def still_there(_):
        ledger = RedisLedger(server.url, 3)
        assert ledger.generation() == 1
        ledger.close()

    assert asyncio.run(life(still_there)) == 0

import os
import shutil
import signal
import subprocess
import time

import pytest
import redis


class RedisServer:
    """A real redis-server with an append-only file, on a unix socket; can be killed and started again."""

    def __init__(self, folder):
        self.folder = folder
        self.url = f"unix://{folder}/redis.sock"
        self.process = None

    def start(self):
        arguments = ["--port", "0", "--unixsocket", f"{self.folder}/redis.sock", "--dir", str(self.folder)]
        arguments += ["--save", "", "--appendonly", "yes", "--appendfsync", "always"]
        self.process = subprocess.Popen(["redis-server", *arguments], stdout=subprocess.DEVNULL)
        client = redis.Redis.from_url(self.url)
        deadline = time.monotonic() + 10
        while True:
            try:
                client.ping()
                break
            except redis.ConnectionError:
                assert self.process.poll() is None, "redis-server ended"
                assert time.monotonic() < deadline, "redis-server does not answer"
                time.sleep(0.01)
        client.close()

    def kill(self, how=signal.SIGKILL):
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, how)
            self.process.wait()


@pytest.fixture(scope="session")
def redis_folder(tmp_path_factory):
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    return tmp_path_factory.mktemp("r")


@pytest.fixture(scope="session")
def shared_redis(redis_folder):
    server = RedisServer(redis_folder)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def redis_url(shared_redis):
    """URL of an empty Redis that other tests use later."""
    client = redis.Redis.from_url(shared_redis.url)
    client.flushall()
    client.close()
    return shared_redis.url


@pytest.fixture
def own_redis(tmp_path_factory):
    """A Redis of the test's own, to kill and start."""
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    server = RedisServer(tmp_path_factory.mktemp("r"))
    server.start()
    yield server
    server.kill()

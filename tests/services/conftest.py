import shutil

import pytest
import redis
from rigs.redis import RedisServer


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

"""Who waits for what takes as long as it takes, shards or a first model, is ready: a roll-out is no failure then."""

import contextlib
import shutil
import socket
import subprocess
import sys

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rigs.health import NOT_SERVING, SERVING
from rigs.ports import free_port
from rigs.small_corpus import digits_recipe, record
from rigs.waiting import eventually

from services.process.health import LIVE
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.recipe.loading import dump_recipe

_ANSWER_S = 5.0
RUN = ("--run", "run", "--recipe", "recipe.yaml", "--patience-s", "600")
NOBODY = ("--coordinator", "127.0.0.1:1")
AWAY = "redis://{nobody}"
RANK = (sys.executable, "-m", "services.trainer", "--launched", *RUN, *NOBODY, "--redis", AWAY)
PROGRAMS = {
    "coordinator": ("services.coordinator", *RUN, "--redis", "{redis}"),
    "stage": ("services.featurizer", *RUN, *NOBODY),
    "launcher": ("services.launcher", "--ranks", "1", "--rank", "0", "--host", "127.0.0.1", "--redis", AWAY),
    "recognizer": ("services.recognizer", "--exports", "run/exports", "--patience-s", "600", "--service", "{nobody}"),
}


@pytest.fixture
def start(tmp_path, redis_url):
    """Start a program in a folder that has a recipe and no shards; return what asks for its health."""
    (tmp_path / "recipe.yaml").write_text(dump_recipe(digits_recipe()))
    with contextlib.ExitStack() as stack:

        def begin(name):
            held = stack.enter_context(socket.socket())  # bound, and never listens
            held.bind(("127.0.0.1", 0))
            nobody, port = held.getsockname()[1], free_port()
            words = (*PROGRAMS[name], "--health-port", str(port), *(("--", *RANK) if name == "launcher" else ()))
            given = [word.format(redis=redis_url, nobody=f"127.0.0.1:{nobody}") for word in words]
            log = stack.enter_context((tmp_path / "log").open("wb"))
            process = subprocess.Popen([sys.executable, "-m", *given], cwd=tmp_path, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return lambda service="": eventually(lambda: asked(process, tmp_path / "log", port, service))

        yield begin


def asked(process, log, port, service):
    """Return the status, or None if there is no answer yet; a process that has ended fails with what it said."""
    assert process.poll() is None, log.read_text()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        request = health_pb2.HealthCheckRequest(service=service)
        try:
            return health_pb2_grpc.HealthStub(channel).Check(request, wait_for_ready=True, timeout=_ANSWER_S).status
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:
                raise
            return None


@pytest.mark.parametrize("name", PROGRAMS)
def test_who_waits_is_alive_and_ready(start, name):
    health = start(name)
    eventually(lambda: health() == SERVING)
    assert health(LIVE) == SERVING


def test_a_stage_that_has_its_shards_is_not_ready_before_the_coordinator_knows_it(start, tmp_path):
    health = start("stage")
    eventually(lambda: health() == SERVING)
    shards = tmp_path / "made" / "shards"
    shards.mkdir(parents=True)
    write_shard(shards / shard_name("train", 0, 1), [record(0)])
    (shards / "card.json").write_text("{}")
    shutil.copy(tmp_path / "recipe.yaml", shards.with_name("recipe.yaml"))
    (tmp_path / "made").rename(tmp_path / "run")
    eventually(lambda: health() == NOT_SERVING)
    assert health(LIVE) == SERVING

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client import CollectorRegistry
from rigs.babble import RATE_HZ
from rigs.health import hang_and_end
from rigs.ports import free_port
from rigs.recognizer import SPEECH, audio, interim, last

from services.process.health import LIVE
from services.process.keys import BadKeys
from services.process.signals import TOGETHER_S
from services.recognizer.main import _await_model, run_server
from services.recognizer.server import RecognizerServer
from services.recognizer.transports.http import HttpServer
from services.recognizer.waiting import Waiting
from services.recognizer_client.client import connect, stream_recording
from sonorant.errors import Unavailable
from sonorant.export.loading import load_exported
from sonorant.recipe.serving import ServingRecipe
from sonorant.serving.model_store import ModelStore


def command(exports, *options):
    return [sys.executable, "-m", "services.recognizer", "--exports", str(exports), *options]


@contextmanager
def process(exports, *options):
    """A recognizer process, and a function that waits for a log event of it."""
    running = subprocess.Popen(command(exports, *options), stderr=subprocess.PIPE, text=True)

    def event(name):
        for line in running.stderr:
            if f'"event": "{name}"' in line:
                return json.loads(line)
        raise AssertionError(f"the recognizer ended without {name}")

    try:
        yield running, event
    finally:
        running.kill()
        running.wait()
        running.stderr.close()


def test_sigterm_of_process_and_group_lets_streams_end_takes_no_new_ones_and_exits_with_0(store, tmp_path):
    exports = store.get().folder.parent.parent

    async def run(port, terminate):
        async with asyncio.timeout(60), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = connect(channel).StreamingRecognize()
            await interim(call)
            terminate()
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as late:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await stream_recording(connect(late), SPEECH, RATE_HZ)
            assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
            await call.write(audio())
            await call.done_writing()
            return await last(call)

    with process(exports, "--port", "0", "--port-file", str(tmp_path / "port")) as (running, event):
        port = event("recognizer_ready")["port"]
        assert (tmp_path / "port").read_text() == f"{port}\n"

        def terminate():
            os.kill(running.pid, signal.SIGTERM)
            assert event("recognizer_draining")["streams"] == 1
            os.kill(running.pid, signal.SIGTERM)

        final = asyncio.run(run(port, terminate))
        assert final.results[0].is_final
        assert final.metadata.total_billed_duration.ToMilliseconds() == 4000
        assert running.wait(30) == 0


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_ends_the_drain_at_once(store, second):
    async def run(port, terminate):
        async with asyncio.timeout(60), grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            call = connect(channel).StreamingRecognize()
            await interim(call)
            terminate()

    with process(store.get().folder.parent.parent, "--port", "0", "--grace-s", "600") as (running, event):
        port = event("recognizer_ready")["port"]

        def terminate():
            os.kill(running.pid, signal.SIGINT)
            assert event("recognizer_draining")["streams"] == 1
            time.sleep(1.2 * TOGETHER_S)
            os.kill(running.pid, second)
            assert running.wait(30) == -second

        asyncio.run(run(port, terminate))


def test_a_port_in_use_is_named(store):
    async def run():
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with pytest.raises(
                Unavailable, match=f"127.0.0.1:{port}: cannot listen there; is the port taken"
            ) as caught:
                await RecognizerServer(store, ServingRecipe(port=port)).start()
            assert caught.value.exit_code == 69

    asyncio.run(run())


@pytest.mark.parametrize("option", ["--port", "--http-port"])
def test_a_port_in_use_ends_the_process(store, option):
    exports = store.get().folder.parent.parent
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        arguments = command(exports, "--port", "0", option, port)
        done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 69
    assert re.search(f"^recognizer: 127.0.0.1:{port}: cannot listen ", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr


def test_a_port_file_that_cannot_be_written_ends_the_process(store, tmp_path):
    (tmp_path / "file").touch()
    arguments = command(store.get().folder.parent.parent, "--port", "0", "--port-file", str(tmp_path / "file" / "port"))
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 69
    assert re.search(f"^recognizer: {tmp_path}/file", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("error", [Unavailable("the port is taken"), BadKeys("no certificate")])
def test_a_start_that_fails_leaves_nothing_running(store, monkeypatch, error):
    async def fail(*_):
        raise error

    monkeypatch.setattr(HttpServer, "start", fail)

    async def run():
        threads, tasks = set(threading.enumerate()), asyncio.all_tasks()
        port = free_port()
        server = RecognizerServer(store, ServingRecipe(port=port, http_port=1))
        with pytest.raises(type(error)):
            await server.start()
        with socket.create_server(("127.0.0.1", port)):
            left = [one for one in set(threading.enumerate()) - threads if one.name.startswith("recognize")]
            return left, asyncio.all_tasks() - tasks

    assert asyncio.run(run()) == ([], set())


def test_no_model_to_serve_is_said_and_the_exit_code_is_69(tmp_path):
    done = subprocess.run(command(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 69
    assert "no model to serve" in done.stderr


def test_a_version_that_is_refused_at_the_start_is_said_with_the_reason(store, tmp_path):
    version = tmp_path / "babble" / "1"
    shutil.copytree(store.get().folder, version)
    (version / "manifest.json").write_text("{")
    done = subprocess.run(command(tmp_path), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 69
    assert re.search("^recognizer: .*: no model to serve: babble/1 is refused: .*not a manifest", done.stderr, re.M)


def test_exports_that_cannot_be_read_end_the_start_in_one_line(monkeypatch, tmp_path):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(ModelStore, "refresh", refuse)
    with pytest.raises(Unavailable, match="cannot be read: Permission denied; give a folder that you may read"):
        _await_model(ModelStore(tmp_path, load_exported), tmp_path, 0.0, Waiting(None, ""))


def test_without_a_model_it_waits_alive_but_not_ready_and_takes_up_the_first(store, tmp_path):
    health_port = free_port()
    folder = store.get().folder

    def health(service=""):
        with grpc.insecure_channel(f"127.0.0.1:{health_port}") as channel:
            request = health_pb2.HealthCheckRequest(service=service)
            return health_pb2_grpc.HealthStub(channel).Check(request, wait_for_ready=True, timeout=60).status

    status = health_pb2.HealthCheckResponse
    options = ("--port", "0", "--health-port", str(health_port), "--patience-s", "600")
    with process(tmp_path / "exports", *options) as (running, event):
        event("looking_for_models")
        assert (health(), health(LIVE)) == (status.NOT_SERVING, status.SERVING)
        shutil.copytree(folder.parent, tmp_path / "new" / folder.parent.name)
        (tmp_path / "new").rename(tmp_path / "exports")
        event("recognizer_ready")
        while health() != status.SERVING:
            pass
        running.terminate()
        assert running.wait(30) == 0


def test_sigterm_ends_the_wait_for_a_model(tmp_path):
    with process(tmp_path, "--port", "0", "--patience-s", "600") as (running, event):
        event("looking_for_models")
        running.terminate()
        assert running.wait(30) == 128 + signal.SIGTERM


def test_a_recognizer_whose_loop_hangs_is_not_live_until_it_turns_again(store):
    hang_and_end(lambda health: run_server(store, ServingRecipe(port=0), None, 1.0, 1, health, CollectorRegistry()))

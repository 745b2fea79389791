"""The probes of the chart's Redis, asked of a real one that has its arguments: alive, ready, or neither."""

import os
import signal
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import redis
from rigs.helm import container
from rigs.ports import free_port
from rigs.waiting import eventually

PASSWORD = "a-word"
LONG_TO_READ = ["--key-load-delay", "100000", "--loading-process-events-interval-bytes", "1024"]  # 100 ms a key


@pytest.fixture
def own(manifests):
    return container(manifests, "redis")


@pytest.fixture
def port():
    return free_port()


@contextmanager
def served(own, folder, port, *arguments):
    """Run what the chart runs, with its data in a folder of this machine."""
    words = [word.replace("$(REDISCLI_AUTH)", PASSWORD) for word in (*own["command"], *own["args"])]
    words[words.index("/data")] = str(folder)
    process = subprocess.Popen([*words, "--port", str(port), *arguments], stdout=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def passes(own, probe, port):
    """Return whether a kubelet would call the probe a success."""
    program, *words = own[probe]["exec"]["command"]
    command, environment = [program, "-p", str(port), *words], os.environ | {"REDISCLI_AUTH": PASSWORD}
    try:
        done = subprocess.run(
            command, env=environment, timeout=own[probe]["timeoutSeconds"], capture_output=True, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def both(own, port):
    """Ask both at once, as each takes its time-out of one that hangs."""
    probes = ("livenessProbe", "readinessProbe")
    with ThreadPoolExecutor() as pool:
        return dict(zip(probes, pool.map(lambda probe: passes(own, probe, port), probes), strict=True))


def test_one_that_answers_is_alive_and_ready_and_one_that_hangs_or_is_gone_is_neither(own, port, tmp_path):
    with served(own, tmp_path, port) as process:
        eventually(lambda: passes(own, "readinessProbe", port))
        assert passes(own, "livenessProbe", port)
        process.send_signal(signal.SIGSTOP)  # its port still takes connections
        socket.create_connection(("127.0.0.1", port)).close()
        assert both(own, port) == {"livenessProbe": False, "readinessProbe": False}
    assert both(own, port) == {"livenessProbe": False, "readinessProbe": False}


def test_one_that_reads_a_large_file_is_alive_and_not_ready(own, port, tmp_path):
    with served(own, tmp_path, port), redis.Redis(port=port, password=PASSWORD) as client:
        eventually(lambda: passes(own, "readinessProbe", port))
        client.mset({f"key {n}": os.urandom(1000) for n in range(3000)})
        client.bgrewriteaof()
        eventually(lambda: client.info("persistence")["aof_base_size"] > 1000 * 3000)
    with served(own, tmp_path, port, *LONG_TO_READ):
        eventually(lambda: passes(own, "livenessProbe", port))
        assert both(own, port) == {"livenessProbe": True, "readinessProbe": False}

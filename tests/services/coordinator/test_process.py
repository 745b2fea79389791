"""The coordinator as a process."""

import socket
import subprocess
import sys
import time

import pytest
from metrics_rig import scrape
from small_corpus import digits_recipe, record

from sonorant.corpus.shards import shard_name, write_shard
from sonorant.recipe.loading import dump_recipe


@pytest.fixture
def run_folder(tmp_path):
    (tmp_path / "shards").mkdir()
    (tmp_path / "recipe.yaml").write_text(dump_recipe(digits_recipe()))
    write_shard(tmp_path / "shards" / shard_name("train", 0, 1), [record(i) for i in range(3)])
    return tmp_path


def coordinator(run_folder, url, *arguments):
    command = [sys.executable, "-m", "services.coordinator", "--run", str(run_folder), "--redis", url, *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_a_port_in_use_is_named_and_sigterm_ends_it_cleanly(run_folder, redis_url):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = coordinator(run_folder, redis_url, "--port", str(port))
        _, said = process.communicate(timeout=60)
    assert process.returncode == 69
    assert f"127.0.0.1:{port}: cannot listen there" in said
    port_file = run_folder / "port"
    with socket.create_server(("127.0.0.1", 0)) as found:
        metrics_port = found.getsockname()[1]
    process = coordinator(run_folder, redis_url, "--port-file", str(port_file), "--metrics-port", str(metrics_port))
    while not port_file.exists():
        assert process.poll() is None
        time.sleep(0.02)
    assert scrape(metrics_port)[("sonorant_coordinator_leases_total",)] == 0
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_redis_away_at_start_ends_it_with_the_address(run_folder):
    process = coordinator(run_folder, f"unix://{run_folder}/nobody.sock")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 69
    assert f"coordinator: Redis at unix://{run_folder}/nobody.sock cannot be reached" in said

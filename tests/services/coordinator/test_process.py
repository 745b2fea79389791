"""The coordinator as a process."""

import json
import socket
import subprocess
import sys
import time

import pytest
from rigs.accident import accident
from rigs.coordinator_world import COUNTS, World
from rigs.health import hang_and_end
from rigs.metrics import scrape
from rigs.ports import free_port
from rigs.small_corpus import digits_recipe, record

from services.coordination.status_client import query_status
from services.coordinator.control import ControlPlane
from services.coordinator.main import serve
from services.coordinator.server import CoordinatorServer
from services.process.keys import Keys
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.recipe.loading import dump_recipe


@pytest.fixture
def run_folder(tmp_path):
    (tmp_path / "shards").mkdir()
    (tmp_path / "recipe.yaml").write_text(dump_recipe(digits_recipe()))
    write_shard(tmp_path / "shards" / shard_name("train", 0, 1), [record(i) for i in range(3)])
    return tmp_path


def coordinator(run_folder, url, *arguments, environment=None):
    command = [sys.executable, "-m", "services.coordinator", "--run", str(run_folder), "--redis", url, *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def test_a_port_in_use_is_named_and_sigterm_ends_it_cleanly(run_folder, redis_url):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = coordinator(run_folder, redis_url, "--port", str(port))
        _, said = process.communicate(timeout=60)
    assert process.returncode == 69
    assert f"127.0.0.1:{port}: cannot listen there" in said
    port_file = run_folder / "port"
    metrics_port = free_port()
    process = coordinator(run_folder, redis_url, "--port-file", str(port_file), "--metrics-port", str(metrics_port))
    while not port_file.exists():
        assert process.poll() is None
        time.sleep(0.02)
    assert scrape(metrics_port)[("sonorant_coordinator_leases_total",)] == 0
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_whether_training_is_complete_is_for_the_recipe_to_say(run_folder, redis_url):
    totals = {"reason": "epochs", "epochs": 3, "train_seconds": 1.0, "looks_without_better": 0}
    (run_folder / "finished.json").write_text(json.dumps(totals))
    for epochs, finished in ((3, True), (4, False)):
        training = digits_recipe().training.model_copy(update={"epochs": epochs})
        (run_folder / "recipe.yaml").write_text(dump_recipe(digits_recipe().model_copy(update={"training": training})))
        process = coordinator(run_folder, redis_url, "--port-file", str(run_folder / f"port of {epochs}"))
        while not (run_folder / f"port of {epochs}").exists():
            assert process.poll() is None
            time.sleep(0.02)
        assert query_status((run_folder / f"port of {epochs}").read_text().strip(), Keys()).finished is finished
        process.terminate()
        process.communicate(timeout=60)


def test_redis_away_at_start_ends_it_with_the_address(run_folder):
    hurried = "from services.coordinator import main; main._START_PATIENCE_S = 0.5"
    environment = accident(run_folder / "accident", hurried, module="services.coordinator")
    process = coordinator(run_folder, f"unix://{run_folder}/nobody.sock", environment=environment)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 69
    assert f"coordinator: Redis at unix://{run_folder}/nobody.sock cannot be reached" in said


def test_a_coordinator_whose_loop_hangs_is_not_live_until_it_resumes(redis_url):
    world = World(redis_url)
    server = CoordinatorServer(ControlPlane(world.recipe, COUNTS, world.ledger), world.recipe.pipeline)
    hang_and_end(lambda health: serve(server, "127.0.0.1:0", None, health))
    world.ledger.close()

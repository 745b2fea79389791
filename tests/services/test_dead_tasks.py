"""What runs beside a process's main loop, and dies of an error that nobody thought of, ends the process."""

import subprocess
import sys

import pytest
from rigs.coordinator import ScriptedCoordinator
from rigs.small_corpus import digits_recipe, record

from sonorant.corpus.shards import shard_name, write_shard
from sonorant.recipe.loading import dump_recipe

BROKEN = """
import sys
from {module} import {owner}
def broken(*arguments, **named):
    raise ZeroDivisionError("never thought of")
{owner}.{method} = broken
{main}
"""
COORDINATOR = "from services.coordinator.main import main; main()"
STAGE = "from services.shard_reader.main import main; main()"
CLIENT = ("services.coordination.client", "CoordinatorClient")


@pytest.fixture
def run_folder(tmp_path):
    (tmp_path / "shards").mkdir()
    (tmp_path / "recipe.yaml").write_text(dump_recipe(digits_recipe()))
    write_shard(tmp_path / "shards" / shard_name("train", 0, 1), [record(i) for i in range(3)])
    return tmp_path


def ended(main, module, owner, method, *arguments):
    """Run a program, one method of which is broken; return its exit code and what it said."""
    script = BROKEN.format(module=module, owner=owner, method=method, main=main)
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("method", ["tick", "refresh"])
def test_a_coordinator_whose_task_dies_ends(run_folder, redis_url, method):
    arguments = ["--run", str(run_folder), "--redis", redis_url]
    code, said = ended(COORDINATOR, "services.coordinator.control", "ControlPlane", method, *arguments)
    assert code == 1
    assert f'"task": "CoordinatorServer._{method}"' in said


@pytest.mark.parametrize(("method", "thread"), [("_beat", "heartbeat"), ("_live", "heartbeat")])
def test_a_stage_whose_heartbeats_die_ends(run_folder, method, thread):
    coordinator = ScriptedCoordinator()
    try:
        code, said = ended(STAGE, *CLIENT, method, "--run", str(run_folder), "--coordinator", coordinator.address)
    finally:
        coordinator.close()
    assert code == 75
    assert '"event": "thread_died"' in said
    assert f'"thread": "{thread}"' in said


def test_a_reader_that_cannot_ask_for_leases_ends(run_folder):
    coordinator = ScriptedCoordinator()
    try:
        arguments = ["--run", str(run_folder), "--coordinator", coordinator.address]
        code, said = ended(STAGE, *CLIENT, "acquire_lease", *arguments)
    finally:
        coordinator.close()
    assert code == 1
    assert '"event": "stage_crashed"' in said

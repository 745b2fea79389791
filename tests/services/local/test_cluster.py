"""`sonorant train` as users run it: all processes real, killed and started again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_corpus import digits_recipe, write_digits

from services.local import cluster
from sonorant.corpus.preparing import prepare
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe, load_recipe
from sonorant.run_folder import RunFolder

PATIENCE_S = 180.0


@pytest.mark.parametrize(("cores", "ranks", "threads"), [(1, 1, 1), (2, 1, 1), (8, 1, 7), (8, 2, 3), (2, 4, 1)])
def test_ranks_share_the_cores_but_one(monkeypatch, cores, ranks, threads):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    assert cluster._rank_threads(ranks) == threads


@pytest.fixture
def workplace(tmp_path):
    """A folder with a tiny recipe and its recordings."""
    values = digits_recipe(strings={"train": 120, "dev": 4, "test": 4, "unseen_speaker": 2}).model_dump(mode="json")
    values["stages"] = [{"stage": "vtlp"}]
    values["pipeline"] = {"layout": "fused", "lease_examples": 8, "dead_after_s": 2.5}
    values["model"] = {"layers": 1, "cells": 8}
    values["training"] = {
        **{"epochs": 1000, "batch_examples": 4, "pool_examples": 16, "checkpoint_every_steps": 5, "patience": 50},
        **{"warmup_steps": 5, "decay_steps": 100},
    }
    (tmp_path / "tiny.yaml").write_text(dump_recipe(Recipe.model_validate(values)))
    write_digits(tmp_path / "data")
    return tmp_path


def prepared(workplace):
    recipe = load_recipe(workplace / "tiny.yaml")
    prepare(recipe, workplace / "data", RunFolder(workplace / "run"), progress=lambda doing, done, total: None)


def sonorant(workplace, *arguments):
    common = ["--recipe", "tiny.yaml", "--run", "run", "--data", "data"]
    return subprocess.Popen(
        [sys.executable, "-m", "sonorant.cli", *arguments, *common],
        cwd=workplace,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )


def finish(process):
    said, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


def processes_of(workplace):
    """Return pid → command line of what runs in or below the folder, but not of what only waits to be reaped."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").resolve().is_relative_to(workplace.resolve()):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return {pid: command for pid, command in found.items() if command}


def kill_process_of(workplace, name):
    """Kill the one whose program or module is `name`; mpirun and the leash have it among their arguments, too."""
    (pid,) = (
        pid
        for pid, command in processes_of(workplace).items()
        if name in command and not {"mpirun", "leash.py"} & {Path(word).name for word in command.split()}
    )
    os.kill(pid, signal.SIGKILL)


def epochs_begun(workplace):
    """Return the number of epochs that the latest checkpoint has begun."""
    latest = max((workplace / "run/checkpoints").glob("step-*"))
    return json.loads((latest / "state.json").read_text())["progress"]["epoch"] + 1


def steps(workplace):
    """Return the number of the step in the latest checkpoint; 0 if there is none."""
    names = [path.name for path in (workplace / "run/checkpoints").glob("step-*")]
    return max((int(name.removeprefix("step-")) for name in names), default=0)


def wait_for(condition, process):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_training_survives_sigkill_of_anyone_and_ctrl_c_and_uses_each_example_once(workplace):
    prepared(workplace)
    first = sonorant(workplace, "train")
    wait_for(lambda: steps(workplace) >= 5, first)
    status = subprocess.run(
        [sys.executable, "-m", "sonorant.cli", "status", "--run", workplace / "run", "--json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {r["stage"] for r in json.loads(status.stdout)["replicas"]} >= {"example_server"}
    code, said = finish(sonorant(workplace, "train"))
    assert (code, "trains or prepares there already" in said) == (69, True)
    code, said = finish(sonorant(workplace, "prepare", "--set", "corpus.strings.train=100"))
    assert (code, "trains or prepares there already" in said) == (69, True)
    first.kill()
    finish(first)
    deadline = time.monotonic() + 10
    while processes_of(workplace):
        assert time.monotonic() < deadline, processes_of(workplace)
        time.sleep(0.05)

    reached = steps(workplace)
    second = sonorant(workplace, "train")
    wait_for(lambda: steps(workplace) > reached, second)
    for victim in ("redis-server", "services.trainer"):
        reached = steps(workplace)
        kill_process_of(workplace, victim)
        wait_for(lambda reached=reached: steps(workplace) > reached, second)
    second.send_signal(signal.SIGINT)
    code, said = finish(second)
    assert (code, "goes on from the last checkpoint" in said) == (130, True)
    assert processes_of(workplace) == {}
    assert "Redis is now ready to exit" in (workplace / "run/logs/redis.log").read_text()  # asked to leave, not killed
    assert not (workplace / "run/finished.json").exists()

    code, said = finish(sonorant(workplace, "train", "--set", "model.cells=9"))
    assert (code, "another corpus, text, stages, features, model or seed" in said) == (65, True)

    epochs = epochs_begun(workplace)
    code, said = finish(sonorant(workplace, "train", "--set", f"training.epochs={epochs}"))
    assert code == 0, said
    assert "is complete" in said
    totals = json.loads((workplace / "run/finished.json").read_text())
    assert totals["ledger"] == {"committed": 120 * epochs, "rejected": 0, "lost": 0, "duplicated": 0}
    assert processes_of(workplace) == {}

    supervised = (workplace / "run/logs/supervisor.log").read_text()
    code, said = finish(sonorant(workplace, "train"))
    assert (code, "is complete" in said) == (0, True)
    assert (workplace / "run/logs/supervisor.log").read_text() == supervised  # nothing was started


def test_training_without_shards_says_to_prepare(workplace):
    code, said = finish(sonorant(workplace, "train"))
    assert code == 65
    assert "run `sonorant prepare --recipe tiny.yaml --run run --data data` first" in said


def test_shards_of_another_corpus_are_refused(workplace):
    prepared(workplace)
    code, said = finish(sonorant(workplace, "train", "--set", "corpus.strings.train=100"))
    assert code == 78
    assert "another `corpus` than the recipe has; run `sonorant prepare" in said

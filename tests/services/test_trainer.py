"""The trainer as a process, with the whole pipeline behind it: real coordinator, real Redis, real example server."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from small_corpus import digits_recipe, record

from sonorant.corpus.shards import shard_name, write_shard
from sonorant.recipe.loading import dump_recipe
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder
from sonorant.text.units import Units

RECORDS = (24, 16)
TOTAL = sum(RECORDS)
EPOCHS = 8
PATIENCE_S = 300.0  # a process takes seconds to start, minutes on a busy machine
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]


def tiny_recipe():
    values = digits_recipe().model_dump(mode="json") | {
        "features": {"mel_bins": 8, "stack": 1, "stride": 1},
        "pipeline": {"layout": "fused", "heartbeat_s": 0.05, "lease_examples": 8, "lookahead_examples": 16},
        "model": {"layers": 1, "cells": 8},
        "training": {
            "batch_examples": 4,
            "pool_examples": 16,
            "epochs": EPOCHS,
            "patience": EPOCHS,
            "checkpoint_every_steps": 3,
        },
    }
    return Recipe.model_validate(values)


def write_run(folder):
    run = RunFolder(folder)
    run.shards.mkdir(parents=True)
    run.recipe.write_text(dump_recipe(tiny_recipe()))
    (run.shards / "units.json").write_text(Units("words", ("one", "two")).to_json())
    for shard, size in enumerate(RECORDS):
        path = run.shards / shard_name("train", shard, len(RECORDS))
        write_shard(path, [record(sum(RECORDS[:shard]) + i) for i in range(size)])
    write_shard(run.shards / shard_name("dev", 0, 1), [record(100 + i) for i in range(3)])
    return run


def wait_for(condition, process=None):
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert process is None or process.poll() is None, "it ended"
        assert time.monotonic() < deadline_s, "it did not happen"
        time.sleep(0.01)


@pytest.fixture
def run(tmp_path, redis_url):
    with contextlib.ExitStack() as stack:
        yield Run(write_run(tmp_path / "run"), redis_url, stack)


class Run:
    def __init__(self, folder, redis_url, stack):
        self.folder = folder
        self._redis_url = redis_url
        self._stack = stack
        port_file = folder.path / "port"
        self._start("coordinator", "--redis", redis_url, "--port-file", str(port_file))
        wait_for(port_file.exists)
        self._coordinator = port_file.read_text().strip()
        self._start("example_server", "--coordinator", self._coordinator)

    def train(self, *launcher):
        arguments = ("--coordinator", self._coordinator, "--redis", self._redis_url)
        return self._start("trainer", *arguments, launcher=launcher)

    def last_step(self):
        steps = [int(p.name.removeprefix("step-")) for p in self.folder.checkpoints.glob("step-*")]
        return max(steps, default=0)

    def log(self, module):
        return (self.folder.path / f"{module}.log").read_text()

    def _start(self, module, *arguments, launcher=()):
        log = self._stack.enter_context((self.folder.path / f"{module}.log").open("ab"))
        command = [*launcher, sys.executable, "-m", f"services.{module}", "--run", str(self.folder.path), *arguments]
        process = subprocess.Popen(command, stderr=log, stdout=log)
        self._stack.callback(end, process)
        return process


def end(process):
    if process.poll() is None:
        process.kill()
    process.wait()


def test_killed_resumed_by_two_ranks_terminated_and_resumed_no_example_is_used_twice(run):
    if shutil.which("mpirun") is None:
        pytest.skip("needs mpirun")
    killed = run.train()
    wait_for(lambda: run.last_step() >= 6, killed)
    killed.kill()
    killed.wait()
    before = run.last_step()

    terminated = run.train(*MPIRUN)
    wait_for(lambda: run.last_step() >= before + 3, terminated)
    os.kill(terminated.pid, signal.SIGUSR1)
    assert terminated.wait(PATIENCE_S) == 75, run.log("trainer")

    assert run.train().wait(PATIENCE_S) == 0, run.log("trainer")
    totals = json.loads((run.folder.path / "finished.json").read_text())
    assert totals["reason"] == "epochs"
    assert totals["examples"] == EPOCHS * TOTAL
    assert totals["ledger"] == {"committed": EPOCHS * TOTAL, "rejected": 0, "lost": 0, "duplicated": 0}
    lines = [json.loads(line) for line in run.folder.metrics.read_text().splitlines()]
    assert sum(line["examples"] for line in lines if line["kind"] == "step") == EPOCHS * TOTAL
    assert [line["step"] for line in lines if line["kind"] == "step"] == list(range(1, totals["steps"] + 1))
    assert lines[-1]["kind"] == "end"
    assert list(run.folder.tensorboard.iterdir())

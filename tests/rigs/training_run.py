"""A training whose parts a test starts and kills: real coordinator, real example servers, real trainer."""

import shutil
import subprocess
import sys

from rigs.small_corpus import digits_recipe, record
from rigs.waiting import eventually

from services.coordination.status_client import query_status
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.recipe.loading import dump_recipe
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder
from sonorant.text.units import Units
from sonorant.training.checkpoints import load_checkpoint

RECORDS = (24, 16)
TOTAL = sum(RECORDS)
EPOCHS = 8
PATIENCE_S = 300.0  # a process takes seconds to start, minutes on a busy machine
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-np", "2"]


def tiny_recipe(pipeline=(), stages=(), **training):
    values = digits_recipe().model_dump(mode="json") | {
        "stages": stages,
        "features": {"mel_bins": 8, "stack": 1, "stride": 1},
        "pipeline": {"layout": "fused", "heartbeat_s": 0.05, "lease_examples": 8, "lookahead_examples": 16}
        | dict(pipeline),
        "model": {"family": "lstm_ctc", "layers": 1, "cells": 8},
        "training": {
            "batch_examples": 4,
            "pool_examples": 16,
            "epochs": EPOCHS,
            "patience": EPOCHS,
            "checkpoint_every_steps": 3,
        }
        | training,
    }
    return Recipe.model_validate(values)


def write_run(folder, recipe):
    run = RunFolder(folder)
    run.shards.mkdir(parents=True)
    run.recipe.write_text(dump_recipe(recipe))
    (run.shards / "units.json").write_text(Units("words", ("one", "two")).to_json())
    for shard, size in enumerate(RECORDS):
        path = run.shards / shard_name("train", shard, len(RECORDS))
        write_shard(path, [record(sum(RECORDS[:shard]) + i) for i in range(size)])
    write_shard(run.shards / shard_name("dev", 0, 1), [record(100 + i) for i in range(3)])
    return run


class Run:
    def __init__(self, folder, redis_url, stack, replicas=1):
        self.folder = folder
        self._redis_url = redis_url
        self._stack = stack
        port_file = folder.path / "port"
        self._start("coordinator", "--redis", redis_url, "--port-file", str(port_file))
        eventually(port_file.exists)
        self._coordinator = port_file.read_text().strip()
        self.servers = []
        for _ in range(replicas):
            self.serve()

    def serve(self, *more, environment=None):
        """Start one more replica of the pipeline."""
        arguments = ("--coordinator", self._coordinator, "--replica", f"example_server-{len(self.servers)}", *more)
        self.servers.append(self._start("example_server", *arguments, environment=environment))
        return self.servers[-1]

    def train(self, *launcher, more=(), environment=None):
        arguments = ("--coordinator", self._coordinator, "--redis", self._redis_url, *more)
        return self._start("trainer", *arguments, launcher=launcher, environment=environment)

    def kill(self, process):
        process.kill()
        process.wait()

    def back_into_an_epoch(self):
        """Lose the newest checkpoints that stand between two epochs; return the progress of the newest that is left."""
        while True:
            progress = load_checkpoint(self.folder.checkpoints, str(self.last_step())).progress
            if progress.examples % TOTAL:
                return progress
            shutil.rmtree(self.folder.checkpoints / f"step-{progress.step:08d}")

    def last_step(self):
        steps = [int(p.name.removeprefix("step-")) for p in self.folder.checkpoints.glob("step-*")]
        return max(steps, default=0)

    def log(self, module):
        return (self.folder.path / f"{module}.log").read_text()

    def status(self):
        return query_status(self._coordinator)

    def _start(self, module, *arguments, launcher=(), environment=None):
        log = self._stack.enter_context((self.folder.path / f"{module}.log").open("ab"))
        command = [*launcher, sys.executable, "-m", f"services.{module}", "--run", str(self.folder.path), *arguments]
        process = subprocess.Popen(command, stderr=log, stdout=log, env=environment)
        self._stack.callback(end, process)
        return process


def end(process):
    if process.poll() is None:
        process.kill()
    process.wait()

"""A real full disk under the logs of a real coordinator and real stages: they work on, and say what was lost."""

import json
import subprocess
import sys

import grpc
import pytest
from rigs.disk import small_disk_at
from rigs.small_corpus import digits_recipe, record
from rigs.waiting import eventually

from services.coordination.status_client import query_status
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.errors import Unavailable
from sonorant.recipe.loading import dump_recipe
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub


class Fleet:
    """Processes of a run, whose logs are on a small disk."""

    def __init__(self, run, redis_url, logs):
        self.run, self.redis_url, self.logs = run, redis_url, logs
        self.processes = {}
        self.address = "127.0.0.1:0"

    def start(self, name, *command):
        with open(self.logs / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, "-m", *command, "--run", str(self.run)], stdout=log, stderr=log
            )

    def start_coordinator(self):
        (self.run / "port").unlink(missing_ok=True)
        port = self.address.rpartition(":")[2]
        arguments = ["--redis", self.redis_url, "--port", port, "--port-file", str(self.run / "port")]
        self.start("coordinator", "services.coordinator", *arguments)
        self.eventually(lambda: (self.run / "port").exists())
        self.address = (self.run / "port").read_text().strip()

    def start_stage(self, name, stage):
        self.start(name, f"services.{stage}", "--coordinator", self.address, "--replica", name)

    def kill(self, name):
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def close(self):
        for name in list(self.processes):
            self.kill(name)

    def eventually(self, condition):
        def happened():
            dead = [name for name, process in self.processes.items() if process.poll() is not None]
            assert not dead, f"{dead} ended"
            return condition()

        eventually(happened)

    def there(self, *replicas):
        def seen():
            try:
                return {replica.replica for replica in query_status(self.address).replicas} == set(replicas)
            except Unavailable:
                return False

        self.eventually(seen)

    def events(self, name):
        lines = (self.logs / f"{name}.log").read_text().splitlines()
        return [json.loads(line)["event"] for line in lines if line.startswith("{") and line.endswith("}")]


@pytest.fixture
def fleet(tmp_path, redis_url):
    run = tmp_path / "run"
    (run / "shards").mkdir(parents=True)
    pipeline = {"heartbeat_s": 0.2, "dead_after_s": 1.0}
    recipe = digits_recipe()
    recipe = recipe.model_copy(update={"pipeline": recipe.pipeline.model_copy(update=pipeline)})
    (run / "recipe.yaml").write_text(dump_recipe(recipe))
    write_shard(run / "shards" / shard_name("train", 0, 1), [record(i) for i in range(3)])
    with small_disk_at(tmp_path / "logs") as disk:
        fleet = Fleet(run, redis_url, disk.folder)
        try:
            yield fleet, disk
        finally:
            fleet.close()


def muted(address):
    """Register one who never beats; return whether it is there."""
    with grpc.insecure_channel(address) as channel:
        CoordinatorStub(channel).Register(pb.RegisterRequest(stage="featurizer", replica="mute"))
    return "mute" in {replica.replica for replica in query_status(address).replicas}


def test_who_cannot_log_goes_on_ticking_and_beating_and_says_later_what_was_lost(fleet):
    fleet, disk = fleet
    fleet.start_coordinator()
    for name, stage in (("doomed", "shard_reader"), ("hardy", "featurizer")):
        fleet.start_stage(name, stage)
    fleet.there("doomed", "hardy")
    disk.fill()
    for log in disk.folder.glob("*.log"):  # the last page of each has space for some lines
        with open(log, "ab", buffering=0) as file:
            room = -log.stat().st_size % 4096
            file.write(b" " * (room - 1) + b"\n")
    fleet.kill("doomed")
    fleet.there("hardy")  # the coordinator ticks: it logs each death
    fleet.kill("coordinator")
    fleet.start_coordinator()
    fleet.there("hardy")  # the stage beats: it logs each coordinator that is away
    disk.make_room()
    fleet.eventually(lambda: muted(fleet.address))
    fleet.there("hardy")
    for name in ("coordinator", "hardy"):
        if name == "hardy":
            fleet.kill("coordinator")
            fleet.start_coordinator()
        fleet.eventually(lambda name=name: "log_lines_lost" in fleet.events(name))

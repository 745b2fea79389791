"""The main promise: whoever is killed, each example is committed exactly once an epoch."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import grpc
import pytest
from rigs.ledger_calls import claim, commit
from rigs.small_corpus import digits_recipe, record
from rigs.waiting import PATIENCE_S, eventually

from services.coordination.redis_ledger import RedisLedger
from services.trainer.example_source import LinkedExampleSource
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.recipe.loading import dump_recipe
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

RECORDS = (40, 25)
TOTAL = sum(RECORDS)
EPOCHS = 2
STAGES = {
    "shard_reader": "shard_reader",
    "vtlp": "vtlp_augmenter",
    "room": "room_simulator",
    "featurizer": "featurizer",
}


class Pipeline:
    """All processes of a run but the trainer."""

    def __init__(self, folder, redis, stack):
        values = digits_recipe().model_dump(mode="json") | {
            "stages": [{"stage": "vtlp"}, {"stage": "room", "t60_s": {"low": 0.05, "high": 0.1}}],
            "pipeline": {"credits": 4, "lease_examples": 8, "dead_after_s": 2.0, "lookahead_examples": 16},
        }
        self.recipe = Recipe.model_validate(values)
        self.run = RunFolder(folder)
        self.redis = redis
        self.processes = {}
        self._starts = Counter()
        self._stack = stack
        self.run.shards.mkdir(parents=True)
        self.run.recipe.write_text(dump_recipe(self.recipe))
        for shard, size in enumerate(RECORDS):
            path = self.run.shards / shard_name("train", shard, len(RECORDS))
            write_shard(path, [record(sum(RECORDS[:shard]) + i) for i in range(size)])

    def start(self, name, module, *arguments):
        self._starts[name] += 1
        log = self._stack.enter_context((self.run.path / f"{name}.log").open("ab"))
        command = [sys.executable, "-m", f"services.{module}", "--run", str(self.run.path), *arguments]
        process = self.processes[name] = subprocess.Popen(command, stderr=log, stdout=log)
        self._stack.callback(end, process)

    def start_coordinator(self, port="0"):
        port_file = self.run.path / "coordinator.address"
        self.start("coordinator", "coordinator", "--redis", self.redis.url, "--port", port, "--port-file", port_file)
        eventually(port_file.exists)
        self.coordinator = port_file.read_text().strip()

    def start_stage(self, stage):
        unique = f"{stage}.{self._starts[stage]}"
        self.start(stage, STAGES[stage], "--coordinator", self.coordinator, "--replica", unique)

    def kill(self, name):
        os.kill(self.processes[name].pid, signal.SIGKILL)
        assert self.processes[name].wait() == -signal.SIGKILL

    def ask(self, call, request):
        with grpc.insecure_channel(self.coordinator) as channel:
            return getattr(CoordinatorStub(channel), call)(request, wait_for_ready=True, timeout=30)


class Consumer:
    """Instead of a trainer: claims each example, then commits it with the next claim."""

    def __init__(self, source, ledger):
        self.source, self.ledger = source, ledger
        self.committed = Counter()
        self.granted = []

    def work(self, epoch, until):
        deadline_s = time.monotonic() + PATIENCE_S
        while not until():
            assert time.monotonic() < deadline_s, f"{len(self.committed)} committed, {self.ledger.progress(epoch)}"
            examples = self.source.take(0.1)
            for number in {e.lineage.epoch for e in examples}:
                names = [e.lineage for e in examples if e.lineage.epoch == number]
                answers = claim(self.ledger, 1, number, [ordinal(name) for name in names])
                self.commit([name for name, granted in zip(names, answers, strict=True) if granted])
            self.source.grant(len(examples))

    def commit(self, names):
        for epoch in {name.epoch for name in names}:
            commit(self.ledger, 1, epoch, [ordinal(name) for name in names if name.epoch == epoch])
        self.committed.update(names)


def ordinal(lineage):
    return sum(RECORDS[: lineage.shard]) + lineage.index


def end(process):
    if process.poll() is None:
        process.kill()
    process.wait()


@pytest.fixture
def pipeline(tmp_path, own_redis):
    with contextlib.ExitStack() as stack:
        pipeline = Pipeline(tmp_path / "run", own_redis, stack)
        pipeline.stack = stack
        yield pipeline


def test_each_example_is_committed_exactly_once_whoever_is_killed(pipeline):
    ledger = RedisLedger(pipeline.redis.url, TOTAL)
    pipeline.stack.callback(ledger.close)
    ledger.restore(1, None)
    pipeline.start_coordinator()
    pipeline.ask("StartGeneration", pb.StartGenerationRequest(generation=1, epoch=0, last_epoch=EPOCHS - 1))
    for stage in STAGES:
        pipeline.start_stage(stage)
    source = pipeline.stack.enter_context(LinkedExampleSource(pipeline.recipe, pipeline.coordinator, "rank-0", 1))
    source.grant(4)
    consumer = Consumer(source, ledger)

    consumer.work(0, until=lambda: len(consumer.committed) >= 10)
    for stage in STAGES:
        pipeline.kill(stage)
        pipeline.start_stage(stage)
    consumer.work(0, until=lambda: len(consumer.committed) >= 25)
    pipeline.kill("coordinator")
    pipeline.start_coordinator(pipeline.coordinator.rpartition(":")[2])
    consumer.work(0, until=lambda: len(consumer.committed) >= 40)
    pipeline.redis.kill()
    pipeline.redis.start()
    for epoch in range(EPOCHS):
        consumer.work(epoch, until=lambda epoch=epoch: source.drained(epoch))

    assert set(consumer.committed.values()) == {1}
    assert len(consumer.committed) == EPOCHS * TOTAL
    for epoch in range(EPOCHS):
        assert ledger.progress(epoch).committed == TOTAL
        assert ledger.settled(epoch).count() == TOTAL

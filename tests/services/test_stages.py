"""The stages as processes, with the real coordinator and a real Redis."""

import contextlib
import signal
import subprocess
import sys
import time
from itertools import count

import grpc
import numpy as np
import pytest
from click.testing import CliRunner
from grpc_health.v1 import health_pb2, health_pb2_grpc
from rigs.ports import free_port
from rigs.small_corpus import digits_recipe, record
from rigs.waiting import PATIENCE_S, eventually

from services.coordination.redis_ledger import RedisLedger
from services.process.health import LIVE
from services.stage.wiring import program
from services.trainer.example_source import LinkedExampleSource
from sonorant.augment.chain import StageResources, apply_stage, build_chain
from sonorant.cli.augment import command as augment
from sonorant.corpus.shards import ShardSet, shard_name, write_shard
from sonorant.delivery.example import Lineage
from sonorant.errors import Unavailable
from sonorant.links.payload import as_carried
from sonorant.recipe.loading import dump_recipe
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

RECORDS = (24, 16)
TOTAL = sum(RECORDS)


def tiny_recipe(layout):
    values = digits_recipe().model_dump(mode="json") | {
        "stages": [
            {"stage": "vtlp"},
            {"stage": "speed"},
            {"stage": "room", "t60_s": {"low": 0.05, "high": 0.1}},
            {"stage": "spec_augment"},
        ],
        "pipeline": {
            "layout": layout,
            "credits": 4,
            "lease_examples": 8,
            "dead_after_s": 3.0,
            "payload": {"waveform": "int16", "features": "float16"},
        },
    }
    return Recipe.model_validate(values)


class Run:
    """One training run without its trainer: the test is the trainer."""

    def __init__(self, folder, recipe, redis_url, stack):
        self.folder = RunFolder(folder)
        self.recipe = recipe
        self._stack = stack
        self._redis_url = redis_url
        self.folder.shards.mkdir(parents=True)
        self.folder.recipe.write_text(dump_recipe(self.recipe))
        for shard, size in enumerate(RECORDS):
            path = self.folder.shards / shard_name("train", shard, len(RECORDS))
            write_shard(path, [record(sum(RECORDS[:shard]) + i) for i in range(size)])
        self.ledger = RedisLedger(redis_url, TOTAL)
        stack.callback(self.ledger.close)
        self.ledger.restore(1, None)

    def start(self, module, *arguments):
        log = self._stack.enter_context((self.folder.path / f"{module}.log").open("ab"))
        command = [sys.executable, "-m", module, *arguments, "--run", str(self.folder.path)]
        return self.keep(subprocess.Popen(command, stderr=log, stdout=log))

    def keep(self, process):
        self._stack.callback(self._end, process)
        return process

    def start_coordinator(self):
        """Start it, begin generation 1 and return its process."""
        port_file = self.folder.path / "coordinator.port"
        process = self.start("services.coordinator", "--redis", self._redis_url, "--port-file", str(port_file))
        eventually(port_file.exists)
        self.coordinator = port_file.read_text().strip()
        with grpc.insecure_channel(self.coordinator) as channel:
            CoordinatorStub(channel).StartGeneration(pb.StartGenerationRequest(generation=1, epoch=0, last_epoch=0))
        return process

    def start_stage(self, stage):
        return self.start(*program(stage), "--coordinator", self.coordinator)

    def source(self):
        return self._stack.enter_context(LinkedExampleSource(self.recipe, self.coordinator, "rank-0", 1))

    def train(self, source, until=None):
        """Take examples, all of the epoch unless told otherwise: return the bytes of the features by lineage."""
        deadline_s = time.monotonic() + PATIENCE_S
        got = {}
        while not source.drained(0) and (until is None or len(got) < until):
            assert time.monotonic() < deadline_s, f"{len(got)} of {TOTAL} examples came"
            for example in source.take(0.2):
                assert example.lineage not in got
                got[example.lineage] = (example.utterance, example.features.shape, example.features.tobytes())
                source.grant(1)
        return got

    def status(self):
        with grpc.insecure_channel(self.coordinator) as channel:
            return CoordinatorStub(channel).GetStatus(pb.GetStatusRequest())

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.fixture
def make_run(tmp_path, redis_url):
    databases = count()
    with contextlib.ExitStack() as stack:

        def make(layout, **changes):
            recipe = Recipe.model_validate(tiny_recipe(layout).model_dump(mode="json") | changes)
            return Run(tmp_path / layout, recipe, f"{redis_url}?db={next(databases)}", stack)

        yield make


def patient(layout):
    """A pipeline that takes nobody for dead who is only slow."""
    return tiny_recipe(layout).pipeline.model_dump(mode="json") | {"dead_after_s": 60.0, "lease_timeout_s": 600.0}


EVERY_LINEAGE = {Lineage(0, shard, index) for shard, size in enumerate(RECORDS) for index in range(size)}
SPLIT = ("shard_reader", "vtlp", "speed", "room", "featurizer", "spec_augment")


def test_split_fused_and_augment_give_the_same_bits_and_every_example_once(make_run, tmp_path):
    results = {}
    for layout, stages in (("split", SPLIT), ("fused", ("example_server",))):
        run = make_run(layout)
        run.start_coordinator()
        processes = [run.start_stage(stage) for stage in stages]
        source = run.source()
        source.grant(8)
        results[layout] = run.train(source)
        for process in processes:
            process.send_signal(signal.SIGTERM)
        assert [process.wait(PATIENCE_S) for process in processes] == [0] * len(stages)
    assert results["split"].keys() == EVERY_LINEAGE
    assert results["split"] == results["fused"]
    for lineage in (Lineage(0, 0, 3), Lineage(0, 1, 7)):
        utterance, _, features = results["split"][lineage]
        arguments = ["--run", str(run.folder.path), "--utterance", utterance, "-o", str(tmp_path / utterance)]
        assert CliRunner().invoke(augment, arguments, catch_exceptions=False).exit_code == 0
        assert np.load(tmp_path / utterance / "features.npy").tobytes() == features, "what one listens to is another"


def test_draining_a_replica_of_every_stage_leaves_nothing_to_be_read_again(make_run):
    run = make_run("split", pipeline=patient("split"))
    run.start_coordinator()
    processes = {stage: [run.start_stage(stage) for _ in range(2)] for stage in SPLIT}
    source = run.source()
    eventually(lambda: len(run.status().replicas) == 2 * len(SPLIT) + 1)
    source.grant(4)
    first = run.train(source, until=TOTAL // 3)
    for doomed, _ in processes.values():
        doomed.send_signal(signal.SIGTERM)
    second = run.train(source)
    assert not first.keys() & second.keys()
    assert first.keys() | second.keys() == EVERY_LINEAGE
    assert [doomed.wait(PATIENCE_S) for doomed, _ in processes.values()] == [0] * len(SPLIT)
    assert [epoch.reissued for epoch in run.status().epochs] == [0]


def test_a_damaged_record_is_rejected_with_its_reason_and_the_rest_is_read(make_run):
    run = make_run("fused")
    path = run.folder.shards / shard_name("train", 0, len(RECORDS))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)
    run.start_coordinator()
    run.start_stage("example_server")
    source = run.source()
    source.grant(8)
    got = run.train(source)
    eventually(lambda: run.status().rejections)
    (rejection,) = run.status().rejections
    lineage = Lineage(rejection.lineage.epoch, rejection.lineage.shard, rejection.lineage.index)
    assert got.keys() == EVERY_LINEAGE - {lineage}
    assert rejection.stage == "shard_reader"
    assert path.name in rejection.reason
    assert f"record {lineage.index} is damaged" in rejection.reason


BABBLE = [{"stage": "room", "t60_s": {"low": 0.05, "high": 0.1}, "noise": {"kinds": ["babble"]}}]


def plainly(run):
    """Return what a plain loop makes of the epoch, as `Run.train` does."""
    shards = ShardSet.open(run.folder.shards, "train")
    chain = build_chain(run.recipe, StageResources(shards, run.folder.path))
    made = {}
    for lineage in EVERY_LINEAGE:
        example = shards.read(lineage.shard, lineage.index).example(lineage)
        for name, stage in chain.items():
            example = apply_stage(name, stage, example, run.recipe.seed)
        features = as_carried(example, run.recipe.pipeline.payload).features
        made[lineage] = (example.utterance, features.shape, features.tobytes())
    return made


@pytest.mark.parametrize(
    "stages", [("shard_reader", "room", "featurizer"), ("example_server",)], ids=["split", "fused"]
)
def test_shards_that_are_away_for_a_moment_cost_no_record_and_change_no_bit(make_run, tmp_path, stages):
    layout = "split" if len(stages) > 1 else "fused"
    run = make_run(layout, stages=BABBLE, pipeline=patient(layout))
    expected = plainly(run)
    run.start_coordinator()
    processes = [run.start_stage(stage) for stage in stages]
    source = run.source()
    source.grant(2)
    first = run.train(source, until=4)
    run.folder.shards.rename(tmp_path / "away")
    source.grant(4)
    logs = sorted(run.folder.path.glob("services.*.log"))  # of who reads records, or voices; others wait for that one
    eventually(lambda: any("machine_failed" in log.read_text() for log in logs))
    (tmp_path / "away").rename(run.folder.shards)
    assert first | run.train(source) == expected
    status = run.status()
    assert [(epoch.rejected, epoch.reissued) for epoch in status.epochs] == [(0, 0)]
    assert [process.poll() for process in processes] == [None] * len(stages)


def test_a_replica_whose_shards_stay_away_ends_and_the_next_one_has_its_records(make_run, tmp_path):
    run = make_run("fused", stages=BABBLE)
    run.start_coordinator()
    doomed = run.start_stage("example_server")
    source = run.source()
    source.grant(2)
    first = run.train(source, until=4)
    run.folder.shards.rename(tmp_path / "away")
    source.grant(4)
    assert doomed.wait(PATIENCE_S) == Unavailable.exit_code
    assert run.start_stage("example_server").wait(PATIENCE_S) == Unavailable.exit_code
    recipe = run.folder.recipe.rename(tmp_path / "recipe away")
    assert run.start_stage("example_server").wait(PATIENCE_S) == Unavailable.exit_code
    recipe.rename(run.folder.recipe)
    (tmp_path / "away").rename(run.folder.shards)
    run.start_stage("example_server")
    assert (first | run.train(source)).keys() == EVERY_LINEAGE
    assert [epoch.rejected for epoch in run.status().epochs] == [0]


def test_a_stage_is_ready_while_it_waits_for_shards_and_then_not_until_the_coordinator_knows_it(make_run, tmp_path):
    run = make_run("split")
    coordinator = run.start_coordinator()
    waiting = run.folder.path.rename(tmp_path / "elsewhere")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(dump_recipe(run.recipe))
    port = free_port()
    options = ("--recipe", str(recipe), "--patience-s", "600", "--health-port", str(port))
    command = [sys.executable, "-m", *program("speed"), "--run", str(run.folder.path), *options]
    process = subprocess.Popen([*command, "--coordinator", run.coordinator], stderr=subprocess.DEVNULL)
    run.keep(process)

    def health(service=""):
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            request = health_pb2.HealthCheckRequest(service=service)
            return health_pb2_grpc.HealthStub(channel).Check(request, wait_for_ready=True, timeout=60).status

    status = health_pb2.HealthCheckResponse
    eventually(lambda: health() == status.SERVING)
    coordinator.send_signal(signal.SIGSTOP)
    (waiting / "shards" / "card.json").write_text("{}")
    waiting.rename(run.folder.path)
    eventually(lambda: health() == status.NOT_SERVING)
    assert health(LIVE) == status.SERVING
    coordinator.send_signal(signal.SIGCONT)
    eventually(lambda: health() == status.SERVING)
    assert [replica.stage for replica in run.status().replicas] == ["speed"]
    process.terminate()
    assert process.wait(PATIENCE_S) == 0


def test_sigterm_ends_the_wait_for_shards(make_run):
    run = make_run("split")
    process = run.start(*program("speed"), "--coordinator", "127.0.0.1:1", "--patience-s", "600")
    eventually(lambda: "waiting_for_shards" in (run.folder.path / "services.augmenter.log").read_text())
    process.terminate()
    assert process.wait(PATIENCE_S) == 128 + signal.SIGTERM

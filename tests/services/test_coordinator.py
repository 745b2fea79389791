"""The coordinator over a real socket, with a real Redis."""

import asyncio
import socket
import subprocess
import sys
import time

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from small_corpus import digits_recipe, record

from services.coordinator.control import ControlPlane
from services.coordinator.server import CoordinatorServer
from services.runtime.redis_ledger import RedisLedger
from sonorant.corpus.shards import shard_name, write_shard
from sonorant.recipe import Recipe
from sonorant.recipe.loading import dump_recipe
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub
from sonorant.v1.example_pb2 import Lineage

COUNTS = (5, 3)
TOTAL = sum(COUNTS)


class Clock:
    """A clock that stands still unless told."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class World:
    """A coordinator, a stub to it, and the clock that it goes by."""

    def __init__(self, url, dead_after_s=60.0):
        pipeline = {"lease_examples": 4, "lookahead_examples": 0, "heartbeat_s": 0.02, "dead_after_s": dead_after_s}
        self.recipe = Recipe.model_validate(digits_recipe().model_dump(mode="json") | {"pipeline": pipeline})
        self.ledger = RedisLedger(url, TOTAL)
        self.clock = Clock()

    async def __aenter__(self):
        self.control = ControlPlane(self.recipe, COUNTS, self.ledger)
        self.server = CoordinatorServer(self.control, self.recipe.pipeline, self.clock)
        self.port = await self.server.start("127.0.0.1:0")
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{self.port}")
        self.stub = CoordinatorStub(self.channel)
        return self

    async def __aexit__(self, *_):
        await self.channel.close()
        await self.server.stop(0)
        self.ledger.close()

    async def begin(self, generation=1):
        if self.ledger.generation() < generation:
            self.ledger.restore(generation, None)
        return await self.stub.StartGeneration(pb.StartGenerationRequest(generation=generation, epoch=0, last_epoch=0))

    async def register(self, stage, replica, endpoint=""):
        return await self.stub.Register(pb.RegisterRequest(stage=stage, replica=replica, endpoint=endpoint))

    async def lease_all(self, replica="r"):
        leases = []
        while (answer := await self.stub.AcquireLease(pb.AcquireLeaseRequest(replica=replica))).lease:
            leases.append(answer.records)
        return leases

    async def beat(self, replica, **fields):
        return await self.stub.Heartbeat(pb.HeartbeatRequest(replica=replica, **fields))


def names(leases):
    return sorted((records.shard, index) for records in leases for index in records.indexes)


def play(url, scene, **options):
    async def whole():
        async with World(url, **options) as world:
            await asyncio.wait_for(scene(world), 30)

    asyncio.run(whole())


async def status_of(call):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value.code(), caught.value.details()


EVERYTHING = [(shard, index) for shard, count in enumerate(COUNTS) for index in range(count)]


def test_nothing_is_leased_before_a_generation_starts_and_everything_once_after(redis_url):
    async def scene(world):
        await world.register("shard_reader", "r")
        assert await world.lease_all() == []
        assert (await world.begin()).total == TOTAL
        assert names(await world.lease_all()) == EVERYTHING
        idle = await world.stub.AcquireLease(pb.AcquireLeaseRequest(replica="r"))
        assert idle.retry_after.ToMilliseconds() > 0

    play(redis_url, scene)


def test_an_unknown_replica_is_told_to_register_and_gets_no_lease(redis_url):
    async def scene(world):
        await world.begin()
        code, reason = await status_of(world.beat("ghost"))
        assert (code, "register" in reason) == (grpc.StatusCode.NOT_FOUND, True)
        assert await world.lease_all("ghost") == []

    play(redis_url, scene)


def test_watchers_hear_of_every_change(redis_url):
    async def scene(world):
        watch = world.stub.WatchEndpoints(pb.WatchEndpointsRequest(stage="vtlp"))
        heard = [tuple((await watch.read()).endpoints)]
        for name in ("b", "a"):
            await world.register("vtlp", name, f"tcp://{name}")
            heard.append(tuple((await watch.read()).endpoints))
        world.clock.now += 2
        await world.beat("a")
        world.clock.now += 2
        heard.append(tuple((await watch.read()).endpoints))
        assert heard == [(), ("tcp://b",), ("tcp://a", "tcp://b"), ("tcp://a",)]
        watch.cancel()

    play(redis_url, scene, dead_after_s=3.0)


def test_a_death_leases_again_what_has_not_arrived(redis_url):
    async def scene(world):
        for stage, replica in (("shard_reader", "r"), ("vtlp", "v"), ("trainer", "t")):
            await world.register(stage, replica)
        await world.begin()
        first, *others = await world.lease_all()
        answer = await world.beat("t", generation=1, arrived=[first])
        assert answer.epochs[0].outstanding == TOTAL - len(first.indexes)
        world.clock.now += 2
        await world.beat("r")
        world.clock.now += 2  # v and t are silent for too long
        await until(lambda: world.control.endpoints("x") == () and "v" not in replicas(world))
        assert names(await world.lease_all()) == names(others)

    play(redis_url, scene, dead_after_s=3.0)


def test_a_broken_link_between_living_replicas_leases_again_what_was_on_it(redis_url):
    async def scene(world):
        for stage, replica in (("shard_reader", "r"), ("vtlp", "v"), ("trainer", "t")):
            await world.register(stage, replica)
        await world.begin()
        first, *others = await world.lease_all()
        await world.beat("t", generation=1, arrived=[first])
        await world.beat("v", broken_links=1)
        again = []
        while not again:
            again = await world.lease_all()
        assert names(again) == names(others)
        assert len(replicas(world)) == 3
        await world.beat("t", generation=1, dropped={0: 2})
        await until(lambda: world.ledger.events("dropped") == {0: 2})
        assert world.ledger.events("reissued") == {0: len(names(others))}

    play(redis_url, scene)


def test_an_empty_replica_that_drained_and_a_trainer_leave_without_a_second_reading(redis_url):
    async def scene(world):
        for stage, replica in (("shard_reader", "r"), ("vtlp", "v"), ("trainer", "t")):
            await world.register(stage, replica)
        await world.begin()
        await world.lease_all()
        await world.beat("v", draining=True)
        world.clock.now += 2
        await world.beat("r")
        world.clock.now += 2
        await until(lambda: replicas(world) == {"r"})
        assert await world.lease_all() == []

    play(redis_url, scene, dead_after_s=3.0)


def test_arrivals_of_another_generation_do_not_count(redis_url):
    async def scene(world):
        await world.register("shard_reader", "r")
        await world.register("trainer", "t")
        await world.begin(generation=2)
        (first, *_) = await world.lease_all()
        answer = await world.beat("t", generation=1, arrived=[first])
        assert answer.epochs[0].outstanding == TOTAL

    play(redis_url, scene)


def test_a_rejected_example_is_settled_and_shown_with_its_reason(redis_url):
    async def scene(world):
        await world.register("shard_reader", "r")
        await world.begin()
        await world.lease_all()
        lineage = Lineage(epoch=0, shard=1, index=2)
        for _ in range(2):
            await world.stub.RejectExample(
                pb.RejectExampleRequest(lineage=lineage, utterance="u7", stage="vtlp", reason="NaN at sample 3")
            )
        answer = await world.beat("r")
        assert answer.epochs[0].outstanding == TOTAL - 1
        status = await world.stub.GetStatus(pb.GetStatusRequest())
        while not status.rejections:
            status = await world.stub.GetStatus(pb.GetStatusRequest())
        assert [(r.utterance, r.stage, r.reason) for r in status.rejections] == [("u7", "vtlp", "NaN at sample 3")]
        assert status.epochs[0].rejected == 1

    play(redis_url, scene)


def test_the_run_is_finished_once_the_ledger_has_settled_the_last_epoch(redis_url):
    async def scene(world):
        await world.register("trainer", "t")
        await world.begin()
        assert not (await world.beat("t")).finished
        world.ledger.claim(1, 0, range(TOTAL))
        world.ledger.commit(1, 0, range(TOTAL))
        while not (await world.beat("t")).finished:
            await asyncio.sleep(0)

    play(redis_url, scene)


def test_a_restarted_coordinator_goes_on_from_redis(redis_url):
    async def before(world):
        await world.begin(generation=3)
        world.ledger.claim(3, 0, [0, 1, 6])
        world.ledger.commit(3, 0, [0, 6])

    async def after(world):
        await world.register("shard_reader", "r")
        left = [name for at, name in enumerate(EVERYTHING) if at not in (0, 6)]
        assert names(await world.lease_all()) == left
        watch = world.stub.WatchEndpoints(pb.WatchEndpointsRequest(stage="shard_reader"))
        begun = time.monotonic()
        await watch.read()
        assert time.monotonic() - begun > 0.1  # replicas had their time to register
        watch.cancel()

    play(redis_url, before)
    play(redis_url, after, dead_after_s=0.3)


def test_a_generation_that_the_ledger_does_not_know_is_refused(redis_url):
    async def scene(world):
        world.ledger.restore(5, None)
        code, reason = await status_of(world.begin(generation=4))
        assert code == grpc.StatusCode.FAILED_PRECONDITION
        assert "generation 4" in reason

    play(redis_url, scene)


def test_a_record_that_no_shard_has_is_refused(redis_url):
    async def scene(world):
        lineage = Lineage(epoch=0, shard=7, index=2)
        code, reason = await status_of(world.stub.RejectExample(pb.RejectExampleRequest(lineage=lineage)))
        assert (code, "shard 7" in reason) == (grpc.StatusCode.INVALID_ARGUMENT, True)

    play(redis_url, scene)


def test_status_names_the_stage_that_holds_the_trainer_back(redis_url):
    async def scene(world):
        await world.register("shard_reader", "r")
        await world.register("featurizer", "f")
        await world.register("trainer", "t")
        second = Duration(seconds=1)
        await world.beat("r", busy=Duration(nanos=10**8), elapsed=second, examples=50, queued=16)
        await world.beat("f", busy=Duration(nanos=9 * 10**8), elapsed=second, examples=50)
        await world.beat("t", figures={"t_session": 0.4, "loss": 1.5})
        status = await world.stub.GetStatus(pb.GetStatusRequest())
        assert status.bottleneck == "featurizer"
        assert status.figures["loss"] == 1.5
        shown = {r.stage: (round(r.utilisation, 3), r.examples_per_second, r.queued) for r in status.replicas}
        assert shown["shard_reader"] == (0.1, 50, 16)

    play(redis_url, scene)


def test_health_and_reflection_answer(redis_url):
    async def scene(world):
        health = health_pb2_grpc.HealthStub(world.channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(service="sonorant.v1.Coordinator"))
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        call = reflection_pb2_grpc.ServerReflectionStub(world.channel).ServerReflectionInfo()
        await call.write(reflection_pb2.ServerReflectionRequest(list_services=""))
        services = (await call.read()).list_services_response.service
        assert "sonorant.v1.Coordinator" in {service.name for service in services}
        call.cancel()

    play(redis_url, scene)


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
    process = coordinator(run_folder, redis_url, "--port-file", str(port_file))
    while not port_file.exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_redis_away_at_start_ends_it_with_the_address(run_folder):
    process = coordinator(run_folder, f"unix://{run_folder}/nobody.sock")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 69
    assert f"coordinator: Redis at unix://{run_folder}/nobody.sock cannot be reached" in said


def replicas(world):
    return {replica.replica for replica in world.control.status(world.clock()).replicas}


async def until(condition):
    while not condition():
        await asyncio.sleep(0.005)

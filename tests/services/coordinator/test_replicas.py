"""Who is there: registering, beating, watching, status."""

import asyncio

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from rigs.coordinator_world import names, play, replicas, status_of, until
from rigs.log import WrittenLog

from services.coordinator import arithmetic
from sonorant.errors import Unavailable
from sonorant.v1 import coordinator_pb2 as pb


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


def test_replicas_of_a_stage_that_do_not_compute_the_same_bits_are_told(redis_url, monkeypatch):
    written = WrittenLog()
    monkeypatch.setattr(arithmetic, "log", written)

    def differ():
        return [entry for entry in written.entries if entry["event"] == "bits_differ"]

    async def scene(world):
        for stage, replica, bits in (
            ("featurizer", "a", "x86-64-v3:01"),
            ("featurizer", "b", "x86-64-v3:01"),
            ("shard_reader", "c", ""),
            ("babble", "d", "portable:02"),
            ("babble", "e", "portable:03"),  # no stage of this recipe
        ):
            await world.register(stage, replica, arithmetic=bits)
        assert not differ()
        for replica in ("f", "g"):
            await world.register("featurizer", replica, arithmetic="portable:04")
        (told,) = differ()
        assert (told["stage"], told["found"], told["others"]) == ("featurizer", "portable:04", ["x86-64-v3:01"])
        status = await world.stub.GetStatus(pb.GetStatusRequest())
        assert {r.replica: r.arithmetic for r in status.replicas}["g"] == "portable:04"

    play(redis_url, scene)


def test_status_has_all_that_a_planner_counts_with(redis_url):
    async def scene(world):
        await world.begin()
        await world.register("featurizer", "r")
        for rank in ("fast", "slow", "idle"):
            await world.register("trainer", rank)
        for _ in range(3):
            spent = {"busy": Duration(seconds=2), "cpu": Duration(seconds=1)}
            await world.beat("r", **spent, elapsed=Duration(seconds=4), examples=10)
        for rank, busy_s, waited_s in 2 * (("fast", 1, 3), ("slow", 3, 1), ("idle", 0, 4)):
            seconds = {"busy": Duration(seconds=busy_s), "waited": Duration(seconds=waited_s)}
            await world.beat(rank, **seconds, elapsed=Duration(seconds=5), examples=8 * (busy_s > 0), wanted=5)
        for stage in ("featurizer", "featurizer", "shard_reader", "babble"):
            await world.stub.RejectExample(pb.RejectExampleRequest(stage=stage, reason="clipped"))
        status = await world.stub.GetStatus(pb.GetStatusRequest())
        assert {r.replica: (r.busy.seconds, r.waited.seconds, r.examples, r.wanted) for r in status.replicas} == {
            "r": (6, 0, 30, 0),
            "fast": (2, 6, 16, 5),
            "slow": (6, 2, 16, 5),
            "idle": (0, 8, 0, 5),
        }
        assert {r.replica: r.cpu.seconds for r in status.replicas if r.HasField("cpu")} == {"r": 3}
        assert status.rejected == {"featurizer": 2, "shard_reader": 1}
        assert status.t_session == 0.25  # of the rank for which the others wait least

    play(redis_url, scene)


def test_t_session_is_absent_before_a_rank_has_trained(redis_url):
    async def scene(world):
        await world.register("trainer", "t")
        await world.beat("t", waited=Duration(seconds=1), elapsed=Duration(seconds=1))
        assert not (await world.stub.GetStatus(pb.GetStatusRequest())).HasField("t_session")

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


def test_a_heartbeat_with_a_record_that_no_shard_has_is_refused_whole(redis_url):
    async def scene(world):
        await world.register("trainer", "t")
        await world.begin()
        good, bad = pb.RecordSet(epoch=0, shard=0, indexes=[1]), pb.RecordSet(epoch=0, shard=1, indexes=[0, 99])
        code, reason = await status_of(world.beat("t", generation=1, arrived=[good, bad], figures={"loss": 1.0}))
        assert (code, "shard 1, record 99" in reason) == (grpc.StatusCode.INVALID_ARGUMENT, True)
        answer = await world.beat("t", generation=1)
        assert answer.epochs[0].outstanding == answer.epochs[0].total
        assert not (await world.stub.GetStatus(pb.GetStatusRequest())).figures

    play(redis_url, scene)


def test_figures_epochs_and_names_beyond_the_limits_are_not_kept(redis_url):
    async def scene(world):
        await world.register("trainer", "t")
        await world.begin()
        for first in range(0, 1000, 100):
            figures = {f"f{number}": 1.0 for number in range(first, first + 100)}
            await world.beat("t", generation=1, figures=figures, dropped={number + 1: 1 for number in range(100)})
        await world.beat("t", figures={"n" * 10_000: 1.0})
        status = await world.stub.GetStatus(pb.GetStatusRequest())
        assert 0 < len(status.figures) <= 64
        assert max(map(len, status.figures)) < 10
        await asyncio.to_thread(world.control.refresh)
        assert not world.ledger.events("dropped")
        code, reason = await status_of(world.register("vtlp", "v" * 10_000))
        assert (code, "10000 characters" in reason) == (grpc.StatusCode.INVALID_ARGUMENT, True)

    play(redis_url, scene)


def test_what_the_audit_counts_waits_while_redis_is_away(redis_url):
    async def scene(world):
        await world.register("trainer", "t")
        await world.begin()
        with pytest.MonkeyPatch.context() as away:

            def fail(*_):
                raise Unavailable("Redis is away")

            away.setattr(world.ledger, "count_events", fail)
            await world.beat("t", generation=1, dropped={0: 3})
            for _ in range(2):
                with pytest.raises(Unavailable):
                    await asyncio.to_thread(world.control.refresh)
        for _ in range(2):
            await asyncio.to_thread(world.control.refresh)
        assert world.ledger.events("dropped") == {0: 3}

    play(redis_url, scene)


def test_a_coordinator_whose_clockwork_breaks_says_so(redis_url):
    async def scene(world):
        world.control.tick = lambda _now: 1 / 0
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(world.server.wait_failed(), 20)

    play(redis_url, scene)


def test_a_clock_that_jumps_costs_a_second_reading_and_no_example(redis_url):
    async def scene(world):
        for stage, replica in (("shard_reader", "r"), ("vtlp", "v"), ("trainer", "t")):
            await world.register(stage, replica)
        await world.begin()
        first, *others = await world.lease_all()
        await world.beat("t", generation=1, arrived=[first])
        world.clock.now += 1e6
        await until(lambda: not replicas(world))  # all seem dead
        code, _ = await status_of(world.beat("t", generation=1))
        assert code == grpc.StatusCode.NOT_FOUND
        for stage, replica in (("shard_reader", "r"), ("trainer", "t")):
            await world.register(stage, replica)
        assert names(await world.lease_all()) == names(others)
        world.clock.now -= 2e6
        await world.beat("t", generation=1, arrived=others)
        assert (await world.beat("t", generation=1)).epochs[0].outstanding == 0

    play(redis_url, scene)

"""Who is there: registering, beating, watching, status."""

import grpc
from coordinator_world import play, status_of
from google.protobuf.duration_pb2 import Duration
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

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

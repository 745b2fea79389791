"""A coordinator over a real socket, with a real Redis and a clock that the test moves."""

import asyncio

import grpc
import pytest
from rigs.small_corpus import digits_recipe

from services.coordination.redis_ledger import RedisLedger
from services.coordinator.control import ControlPlane
from services.coordinator.server import CoordinatorServer
from sonorant.recipe import Recipe
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

COUNTS = (5, 3)
TOTAL = sum(COUNTS)


class Clock:
    """A clock that the test moves."""

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

    async def register(self, stage, replica, endpoint="", **fields):
        return await self.stub.Register(pb.RegisterRequest(stage=stage, replica=replica, endpoint=endpoint, **fields))

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


def replicas(world):
    return {replica.replica for replica in world.control.status(world.clock()).replicas}


async def until(condition):
    while not condition():
        await asyncio.sleep(0.005)

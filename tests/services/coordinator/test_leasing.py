"""What is leased, leased again, settled and rejected."""

import asyncio
import time

import grpc
from rigs.coordinator_world import EVERYTHING, TOTAL, names, play, replicas, status_of, until
from rigs.ledger_calls import claim, commit

from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.example_pb2 import Lineage


def test_nothing_is_leased_before_a_generation_starts_and_everything_once_after(redis_url):
    async def scene(world):
        await world.register("shard_reader", "r")
        assert await world.lease_all() == []
        assert (await world.begin()).total == TOTAL
        assert names(await world.lease_all()) == EVERYTHING
        idle = await world.stub.AcquireLease(pb.AcquireLeaseRequest(replica="r"))
        assert idle.retry_after.ToMilliseconds() > 0

    play(redis_url, scene)


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
        await until(lambda: world.ledger.events("reissued") == {0: len(names(others))})  # told after the other

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
        answer = await world.beat("r", generation=1)
        assert answer.epochs[0].outstanding == TOTAL - 1
        status = await world.stub.GetStatus(pb.GetStatusRequest())
        while not status.rejections:
            status = await world.stub.GetStatus(pb.GetStatusRequest())
        assert [(r.utterance, r.stage, r.reason) for r in status.rejections] == [("u7", "vtlp", "NaN at sample 3")]
        assert status.epochs[0].rejected == 1

    play(redis_url, scene)


def test_rejections_with_names_and_reasons_of_megabytes_leave_room_for_the_status(redis_url):
    """An id in a manifest may be as long as its line; a message of gRPC has 4 MiB."""

    async def scene(world):
        await world.register("shard_reader", "r")
        await world.begin()
        await world.lease_all()
        for shard, index in EVERYTHING:
            lineage = Lineage(epoch=0, shard=shard, index=index)
            said = {"utterance": f"{index}" + "ß" * 500_000, "reason": "€" * 500_000}
            await world.stub.RejectExample(pb.RejectExampleRequest(lineage=lineage, stage="vtlp", **said))
        await asyncio.to_thread(world.control.refresh)
        status = await world.stub.GetStatus(pb.GetStatusRequest())
        assert [r.utterance[:2] for r in status.rejections] == [f"{index}ß" for _, index in EVERYTHING]
        assert 100 * max(r.ByteSize() for r in status.rejections) < 1 << 20

    play(redis_url, scene)


def test_a_record_that_no_shard_has_is_refused(redis_url):
    async def scene(world):
        lineage = Lineage(epoch=0, shard=7, index=2)
        code, reason = await status_of(world.stub.RejectExample(pb.RejectExampleRequest(lineage=lineage)))
        assert (code, "shard 7" in reason) == (grpc.StatusCode.INVALID_ARGUMENT, True)

    play(redis_url, scene)


def test_a_ledger_that_has_settled_the_last_epoch_does_not_finish_the_run(redis_url):
    """The gang may be lost before its last checkpoint, and then needs examples again."""

    async def scene(world):
        await world.register("shard_reader", "r")
        await world.register("trainer", "t")
        await world.begin()
        claim(world.ledger, 1, 0, range(TOTAL))
        commit(world.ledger, 1, 0, range(TOTAL))
        while (await world.stub.GetStatus(pb.GetStatusRequest())).epochs[0].committed < TOTAL:
            await asyncio.sleep(0)
        assert not (await world.beat("t")).finished
        await world.begin(generation=2)
        assert names(await world.lease_all()) == EVERYTHING
        await world.stub.EndTraining(pb.EndTrainingRequest(generation=2))
        assert (await world.beat("t")).finished

    play(redis_url, scene)


def test_training_that_ends_early_leases_nothing_more_not_even_after_a_restart(redis_url):
    async def before(world):
        await world.register("shard_reader", "r")
        await world.begin(generation=2)
        call = world.stub.EndTraining(pb.EndTrainingRequest(generation=1))
        assert (await status_of(call))[0] == grpc.StatusCode.FAILED_PRECONDITION
        assert not (await world.stub.GetStatus(pb.GetStatusRequest())).finished
        await world.stub.EndTraining(pb.EndTrainingRequest(generation=2))
        assert await world.lease_all() == []
        assert (await world.stub.GetStatus(pb.GetStatusRequest())).finished

    async def after(world):
        await world.register("shard_reader", "r")
        assert await world.lease_all() == []
        assert (await world.beat("r")).finished
        await world.begin(generation=3)
        assert names(await world.lease_all()) == EVERYTHING

    play(redis_url, before)
    play(redis_url, after)


def test_a_restarted_coordinator_goes_on_from_redis(redis_url):
    async def before(world):
        await world.begin(generation=3)
        claim(world.ledger, 3, 0, [0, 1, 6])
        commit(world.ledger, 3, 0, [0, 6])

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
    play(redis_url, after, dead_after_s=1.5)


def test_a_generation_that_the_ledger_does_not_know_is_refused(redis_url):
    async def scene(world):
        world.ledger.restore(5, None)
        code, reason = await status_of(world.begin(generation=4))
        assert code == grpc.StatusCode.FAILED_PRECONDITION
        assert "generation 4" in reason

    play(redis_url, scene)

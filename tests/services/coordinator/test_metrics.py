"""The coordinator's Prometheus metrics, over HTTP."""

import asyncio

from google.protobuf.duration_pb2 import Duration
from rigs.coordinator_world import COUNTS, TOTAL, play
from rigs.metrics import scrape

from services.coordinator.metrics import coordinator_metrics
from services.process.metrics import MetricsServer, on_scrape
from sonorant.v1 import coordinator_pb2 as pb


def test_leases_claims_commits_copies_and_replicas_are_counted(redis_url):
    async def scene(world):
        await world.begin()
        for stage, name in (("shard_reader", "r"), ("featurizer", "f"), ("featurizer", "g"), ("trainer", "t")):
            await world.register(stage, name)
        leases = await world.lease_all()
        await world.beat("f", broken_links=1)
        world.control.tick(world.clock())
        again = await world.lease_all()
        await world.stub.RejectExample(
            pb.RejectExampleRequest(lineage={"shard": 0, "index": 0}, stage="featurizer", reason="clipped")
        )
        world.ledger.commit_and_claim(1, (0, ()), (0, [1, 2, 3]), "first")
        world.ledger.commit_and_claim(1, (0, [1, 2]), (0, [3]), "copy")
        await world.beat("t", generation=1, busy=Duration(seconds=1), examples=2, elapsed=Duration(seconds=1))
        await world.beat("t", generation=1, dropped={0: 4})
        world.control.refresh()
        server = MetricsServer("127.0.0.1", 0)
        on_scrape(server.registry, lambda: coordinator_metrics(world.control, world.clock()))
        found = await asyncio.to_thread(scrape, server.port)
        server.close()
        assert {key[1]: value for key, value in found.items() if key[0] == "sonorant_coordinator_replicas"} == {
            "shard_reader": 1,
            "featurizer": 2,
            "trainer": 1,
        }
        assert found[("sonorant_coordinator_leases_total",)] == len(leases) + len(again)
        assert found[("sonorant_coordinator_leased_examples_total",)] == 2 * TOTAL
        assert found[("sonorant_coordinator_reissued_examples_total",)] == TOTAL
        assert found["sonorant_coordinator_duplicates_refused_total", "ledger"] == 1
        assert found["sonorant_coordinator_duplicates_refused_total", "rank"] == 4
        assert found["sonorant_coordinator_rejected_examples_total", "featurizer"] == 1
        assert found[("sonorant_coordinator_generation",)] == 1
        assert found[("sonorant_coordinator_t_session_ratio",)] == 1
        assert found[("sonorant_coordinator_epoch",)] == 0
        states = {key[1]: value for key, value in found.items() if key[0] == "sonorant_coordinator_epoch_examples"}
        assert states == {"total": sum(COUNTS), "claimed": 1, "committed": 2, "rejected": 1, "outstanding": TOTAL - 1}

    play(redis_url, scene)

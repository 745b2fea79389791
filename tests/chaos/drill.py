"""How soon work flows again after one thing is killed: one replica a stage, and a consumer with unlimited demand.

`make drill`: each fault several times; the time is that from the fault to the first example after the longest pause
that follows it, supervised restart included. Exit code 1: the median of a fault is above its limit.
"""

import asyncio
import json
import signal
import sys
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

import click
import grpc
from chaos.corpus import chaos_recipe, write_run
from chaos.fleet import Fleet, send
from rigs.ledger_calls import claim, commit

from services.coordination.redis_ledger import RedisLedger
from services.trainer.example_source import LinkedExampleSource
from sonorant.corpus.shards import ShardSet
from sonorant.v1 import coordinator_pb2 as pb
from sonorant.v1.coordinator_pb2_grpc import CoordinatorStub

_EPOCHS = 1000
_BETWEEN_S = 8.0
_LIMIT_S = 3.0
_LIMITS_S = {"coordinator": 5.0, "redis": 5.0}
_PACE = 100.0  # examples a second: leaves the machine time to start processes


class Consumer:
    """Claims and commits all arriving examples in a thread, and notes their times."""

    def __init__(self, run, fleet):
        self.times = []
        self._ledger = RedisLedger(fleet.redis_url, ShardSet.open(run.shards, "train").total)
        self._counts = ShardSet.open(run.shards, "train").counts
        self._ledger.restore(1, None)
        with grpc.insecure_channel(fleet.relay.address) as channel:
            request = pb.StartGenerationRequest(generation=1, epoch=0, last_epoch=_EPOCHS - 1)
            CoordinatorStub(channel).StartGeneration(request, timeout=30)
        self._source = LinkedExampleSource(chaos_recipe(), fleet.relay.address, "rank-0", 1)
        self._source.grant(16)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._ended.is_set():
            examples = self._source.take(0.2)
            now_s = time.monotonic()
            by_epoch = {}
            for example in examples:
                lineage = example.lineage
                by_epoch.setdefault(lineage.epoch, []).append(sum(self._counts[: lineage.shard]) + lineage.index)
            for epoch, ordinals in by_epoch.items():
                answers = claim(self._ledger, 1, epoch, ordinals)
                fresh = [ordinal for ordinal, granted in zip(ordinals, answers, strict=True) if granted]
                commit(self._ledger, 1, epoch, fresh)
                self.times += [now_s] * len(fresh)
            time.sleep(len(examples) / _PACE)
            self._source.grant(len(examples))

    def close(self):
        self._ended.set()
        self._thread.join()
        self._source.close()
        self._ledger.close()


async def drill(run, rounds, echo):
    fleet = Fleet(run, {}, replicas=1)
    consumer = None
    figures = {}
    try:
        await fleet.start()
        consumer = await asyncio.to_thread(Consumer, run, fleet)
        while len(consumer.times) < 100:
            await asyncio.sleep(0.2)
        for _ in range(rounds):
            for name in (*fleet.stages, "coordinator", "redis", "cut"):
                await asyncio.sleep(_BETWEEN_S / 2)
                injected_s = time.monotonic()
                if name == "cut":
                    for wire in fleet.wires(fleet.stages["room"][0]):
                        wire.cut()
                else:
                    child = fleet.stages[name][0] if name in fleet.stages else getattr(fleet, name)
                    send(fleet.pid(child), signal.SIGKILL)
                await asyncio.sleep(_BETWEEN_S)
                while not consumer.times or consumer.times[-1] < injected_s + _BETWEEN_S / 2:
                    await asyncio.sleep(0.2)
                after = [t for t in consumer.times if t > injected_s]
                _, again_s = max((b - a, b) for a, b in pairwise([injected_s, *after]))
                figures.setdefault(name, []).append(round(again_s - injected_s, 2))
                echo(f"{name:14} work flows again after {figures[name][-1]:.2f} s")
    finally:
        if consumer is not None:
            await asyncio.to_thread(consumer.close)
        await fleet.stop()
    return figures


@click.command()
@click.option("--rounds", default=3, show_default=True)
def command(rounds):
    """Measure recovery after a kill of each stage, of the coordinator and Redis, and after a cut link."""
    with tempfile.TemporaryDirectory(prefix="sonorant-drill-") as folder:
        run = write_run(Path(folder) / "run", 2000)
        figures = asyncio.run(drill(run, rounds, click.echo))
    click.echo(json.dumps(figures))
    slow = {name: s for name, s in figures.items() if median(s) > _LIMITS_S.get(name, _LIMIT_S)}
    if slow:
        click.echo(f"too slow: {slow}; limits are {_LIMIT_S:g} s, and {_LIMITS_S}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    command()

"""A run under faults: faults by the plan, a verdict after each epoch, and the gaps after each fault."""

import asyncio
import dataclasses
import signal
import time

from chaos.fleet import Fleet, send
from chaos.schedule import plan
from chaos.standstill import Standstill, gaps, times
from chaos.variants import EPOCHS
from chaos.verdict import all_exact, judge, read_history

from sonorant.corpus.shards import ShardSet
from sonorant.recipe.loading import load_recipe
from sonorant.training.checkpoints import BadCheckpoint, load_checkpoint

__all__ = ["FleetRun", "first_to_end_or_fail"]

_STANDSTILL_S = 300.0


async def first_to_end_or_fail(*decisive, may_end):
    """Wait until a decisive task ends, or any fails; raise what failed. `may_end` may also end before the others."""
    waiting = {*decisive, may_end}
    while True:
        ended, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
        if ended - {may_end}:
            return


class FleetRun:
    """One run; `expected` is the future of an undisturbed run's results, `echo` gets a line an event."""

    def __init__(self, run, seed, duration_s, every_s, pace, expected, echo):
        self._run, self._seed, self._duration_s, self._every_s = run, seed, duration_s, every_s
        self._expected, self._echo = expected, echo
        self._environment = {"CHAOS_RECORDS": str(run.path / "records"), "CHAOS_PACE": str(pace)}
        (run.path / "records").mkdir()
        self._total = ShardSet.open(run.shards, "train").total
        self._strict = load_recipe(run.recipe).pipeline.order == "strict"  # which is for one rank
        self._verdicts = []
        self._injected = []

    async def run(self):
        """Train to the end under fault injection; return what to report."""
        self._fleet = Fleet(self._run, self._environment)
        try:
            await self._fleet.start()
            training = asyncio.create_task(self._fleet.train())
            watching = [asyncio.create_task(task) for task in (self._judge_epochs(), self._watch_flow())]
            injecting = asyncio.create_task(self._inject_all())
            await first_to_end_or_fail(training, self._fleet.failed, *watching, may_end=injecting)
            for task in (*watching, injecting):
                task.cancel()
            final = await self._judge()
        finally:
            await self._fleet.stop()
        return {
            "seed": self._seed,
            "examples": self._total,
            "gang_starts": self._fleet.gang_starts,
            "exact": all_exact(final, EPOCHS) and all(all_exact(so_far, len(so_far)) for so_far in self._verdicts),
            "verdict": [dataclasses.asdict(v) | {"exact": v.exact} for v in final],
            "injections": self._gaps(),
            "arrivals": self._arrivals(),
        }

    async def _inject_all(self):
        begun_s = await self._flowing()
        for injection in plan(self._seed, self._duration_s, self._every_s, list(self._fleet.stages), not self._strict):
            await asyncio.sleep(max(0.0, begun_s + injection.at_s - time.monotonic()))
            target = await self._inject(injection)
            self._injected.append((time.monotonic(), injection, target))
            self._echo(f"{injection.at_s:7.1f} s  {injection.kind:18} {target}")
            if injection.kind in (
                "kill rank",
                "resize gang",
            ):  # seconds pass, minutes on a busy machine, until it is back
                injected_s = time.monotonic()
                begun_s += await self._flowing(injected_s) - injected_s

    async def _flowing(self, since_s=0.0):
        """Wait until examples arrive at a gang that was started after a time; return the time."""
        while self._fleet.gang_start_s < since_s or not any(t > self._fleet.gang_start_s for t in self._arrivals()):
            await asyncio.sleep(0.5)
        return time.monotonic()

    async def _watch_flow(self):
        """Fail if nothing arrives for so long that it cannot be a restart."""
        begun_s = time.monotonic()
        while True:
            await asyncio.sleep(5.0)
            if time.monotonic() - max([begun_s, *self._arrivals()[-1:]]) > _STANDSTILL_S:
                raise Standstill(f"no example arrived for {_STANDSTILL_S:g} s")

    async def _inject(self, injection):
        """Inject one fault; return the name of its target."""
        fleet = self._fleet
        verb, noun = injection.kind.split()
        replicas = fleet.stages[injection.stage]
        child = {"redis": fleet.redis, "coordinator": fleet.coordinator}.get(
            noun, replicas[injection.pick % len(replicas)]
        )
        pid = fleet.rank(injection.pick) if noun == "rank" else fleet.pid(child)
        if verb == "add":
            await fleet.add(injection.stage)
        elif verb == "remove":
            fleet.later(0, lambda: asyncio.ensure_future(fleet.remove(injection.stage, injection.pick)))
        elif verb == "resize":
            fleet.resize_gang(injection.pick)
            return "trainer"
        elif noun == "links":
            self._disturb(verb, fleet.wires(child), injection.seconds)
        elif verb == "pause":
            fleet.pause(pid, injection.seconds)
        else:
            send(pid, signal.SIGKILL if verb == "kill" else signal.SIGTERM)
        return f"rank {pid}" if noun == "rank" else child.name

    def _disturb(self, verb, wires, seconds):
        def heal():
            for wire in wires:
                wire.delay_s = 0.0
                wire.flows.set()

        for wire in wires:
            if verb == "cut":
                wire.cut()
            elif verb == "delay":
                wire.delay_s = 0.3
            else:
                wire.flows.clear()
        self._fleet.later(seconds, heal)

    async def _judge_epochs(self):
        """Judge each epoch as soon as a checkpoint is beyond it."""
        judged = 0
        while True:
            await asyncio.sleep(1.0)
            checkpoint = self._checkpoint()
            if checkpoint is not None and checkpoint.progress.epoch > judged:
                judged = checkpoint.progress.epoch
                self._verdicts.append(await self._judge())
                exact = all(verdict.exact for verdict in self._verdicts[-1])
                self._echo(f"           epoch {judged} is over: {'exact' if exact else 'NOT EXACT'}")

    async def _judge(self):
        checkpoint = self._checkpoint()
        expected = await asyncio.wrap_future(self._expected)
        history = read_history(self._run.path / "records", checkpoint.progress)
        return judge(history, checkpoint, self._total, expected, checkpoint.progress.epoch)

    def _checkpoint(self):
        try:
            return load_checkpoint(self._run.checkpoints, "latest")
        except BadCheckpoint:
            return None

    def _arrivals(self):
        return times(self._run.path / "records", "arrivals")

    def _gaps(self):
        """Return each fault with the longest pause of arrivals, in seconds, that began between it and the next one."""
        found = gaps([injected_s for injected_s, _, _ in self._injected], self._arrivals())
        return [
            injection._asdict() | {"target": target, "injected_s": injected_s, "gap_s": gap_s}
            for (injected_s, injection, target), gap_s in zip(self._injected, found, strict=True)
        ]

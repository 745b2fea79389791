"""One training by `sonorant train` under blows from outside, and whether it came out exact without standing still."""

import asyncio
import dataclasses
import random
import subprocess
import sys
import time

from chaos.command import CommandFailed
from chaos.standstill import Standstill, gaps, longest_standstill, times
from chaos.variants import EPOCHS
from chaos.verdict import all_exact, judge, read_history

from sonorant.corpus.shards import ShardSet
from sonorant.training.checkpoints import load_checkpoint

__all__ = ["Bout"]

_SETTLE_S = 0.5  # after a blow, what was under way still arrives


class Bout:
    """Plays blows of `deal` for `duration_s`, then `last`, and lets the training end.

    expected: the future of an undisturbed run's results; bound_s: the longest standstill that is allowed; say: gets a
    line an event.
    """

    def __init__(self, ground, blows, last, duration_s, every_s, bound_s, expected, say):
        self._ground, self._blows, self._last = ground, blows, last
        self._duration_s, self._every_s, self._bound_s = duration_s, every_s, bound_s
        self._expected, self._say = expected, say
        self._struck = []
        self._doing = "start"
        self._total = ShardSet.open(ground.run.shards, "train").total

    async def fight(self):
        """Train to the end under blows; return what to report."""
        begun_s = time.monotonic()
        try:
            await self._train()
        except (Standstill, CommandFailed) as error:
            return self._outcome(begun_s, [], [f"{self._doing}: {error}"])
        ended_s = time.monotonic()
        wrongs = list(self._ground.wrongs)
        if audited := await asyncio.to_thread(self._audit):
            wrongs.append(f"sonorant audit: {audited}")
        checkpoint = load_checkpoint(self._ground.run.checkpoints, "latest")
        expected = await asyncio.wrap_future(self._expected)
        history = read_history(self._ground.records, checkpoint.progress)
        verdict = judge(history, checkpoint, self._total, expected, EPOCHS)
        return self._outcome(begun_s, verdict, wrongs, ended_s)

    async def _train(self):
        ground = self._ground
        training = asyncio.create_task(ground.command.keep())
        striking = asyncio.create_task(self._strike_all())
        watching = asyncio.create_task(self._watch_flow())
        try:
            waiting = {training, striking, watching}
            while training in waiting:  # blows may be over before
                ended, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    task.result()
        finally:
            for task in (training, striking, watching):
                task.cancel()

    async def _watch_flow(self):
        """Raise Standstill if nothing comes for longer than is allowed, be it after the last blow."""
        while True:
            await self._ground.flowing(time.monotonic())
            await asyncio.sleep(1.0)

    async def _strike_all(self):
        """Inject faults, each when work flows again after the one before, or at once."""
        ground = self._ground
        await ground.flowing(time.monotonic())
        begun_s = time.monotonic()
        for blow in self._blows:
            await asyncio.sleep(self._every_s * random.uniform(0.5, 1.5))
            if time.monotonic() - begun_s > self._duration_s:
                break
            if not (blow.at_once and self._struck):
                await ground.flowing(self._struck[-1][1] + _SETTLE_S if self._struck else begun_s)
            await self._strike(blow, begun_s)
        (ground.records / "hurry").touch()
        await self._strike(self._last, begun_s)

    async def _strike(self, blow, begun_s):
        struck_s, self._doing = time.monotonic(), blow.fault.kind
        target = await self._ground.strike(blow)
        self._struck.append((struck_s, time.monotonic(), blow, target))
        self._say(f"{struck_s - begun_s:7.1f} s  {blow.fault.kind:32} {target}")

    def _outcome(self, begun_s, verdict, wrongs, ended_s=None):
        ground = self._ground
        work = [begun_s, *times(ground.records, "arrivals", "steps"), ended_s or time.monotonic()]
        stood_s, since_s = longest_standstill(work, ground.excused)
        if stood_s > self._bound_s:
            wrongs = [*wrongs, f"work stood still for {stood_s:.0f} s, more than {self._bound_s:g}"]
        return {
            "exact": all_exact(verdict, EPOCHS),
            "wrongs": wrongs,
            "verdict": [dataclasses.asdict(v) | {"exact": v.exact} for v in verdict],
            "standstill_s": round(stood_s, 1),
            "standstill_after": max(
                ((s, blow.fault.kind) for s, _, blow, _ in self._struck if s <= since_s + 1), default=(0, "start")
            )[1],
            "command_starts": ground.command.starts,
            "command_ends": [{"code": code, "reason": why, "said": said} for _, code, why, said in ground.command.ends],
            "blows": self._gaps(),
            "arrivals": times(ground.records, "arrivals"),
        }

    def _gaps(self):
        found = gaps([struck_s for struck_s, *_ in self._struck], times(self._ground.records, "arrivals"))
        return [
            {"kind": blow.fault.kind, "target": target, "struck_s": struck_s, "gap_s": gap_s}
            for (struck_s, _, blow, target), gap_s in zip(self._struck, found, strict=True)
        ]

    def _audit(self):
        """Return the failure that `sonorant audit` reports, empty if none."""
        command = [sys.executable, "-m", "sonorant.cli", "audit", str(self._ground.run.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else f"exit code {done.returncode}: {(done.stderr or done.stdout)[-500:]}"

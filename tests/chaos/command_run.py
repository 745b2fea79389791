"""One training by `sonorant train` under fault injection: whether it is exact, and how long it stood still."""

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

__all__ = ["CommandRun"]

_SETTLE_S = 0.5  # after a fault, what was under way still arrives


class CommandRun:
    """Injects the faults of `draw` for `duration_s`, then `last`, and lets the training end.

    expected: the future of an undisturbed run's results; bound_s: the longest standstill that is allowed; echo: gets a
    line an event.
    """

    def __init__(self, testbed, injections, last, duration_s, every_s, bound_s, expected, echo):
        self._testbed, self._injections, self._final = testbed, injections, last
        self._duration_s, self._every_s, self._bound_s = duration_s, every_s, bound_s
        self._expected, self._echo = expected, echo
        self._injected = []
        self._doing = "start"
        self._total = ShardSet.open(testbed.run.shards, "train").total

    async def run(self):
        """Train to the end under fault injection; return what to report."""
        begun_s = time.monotonic()
        try:
            await self._train()
        except (Standstill, CommandFailed) as error:
            return self._outcome(begun_s, [], [f"{self._doing}: {error}"])
        ended_s = time.monotonic()
        violations = list(self._testbed.violations)
        if audited := await asyncio.to_thread(self._audit):
            violations.append(f"sonorant audit: {audited}")
        checkpoint = load_checkpoint(self._testbed.run.checkpoints, "latest")
        expected = await asyncio.wrap_future(self._expected)
        history = read_history(self._testbed.records, checkpoint.progress)
        verdict = judge(history, checkpoint, self._total, expected, EPOCHS)
        return self._outcome(begun_s, verdict, violations, ended_s)

    async def _train(self):
        testbed = self._testbed
        training = asyncio.create_task(testbed.command.keep())
        injecting = asyncio.create_task(self._inject_all())
        watching = asyncio.create_task(self._watch_flow())
        try:
            waiting = {training, injecting, watching}
            while training in waiting:  # the faults may be over before
                ended, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    task.result()
        finally:
            for task in (training, injecting, watching):
                task.cancel()

    async def _watch_flow(self):
        """Raise Standstill if nothing comes for longer than is allowed, be it after the last fault."""
        while True:
            await self._testbed.flowing(time.monotonic())
            await asyncio.sleep(1.0)

    async def _inject_all(self):
        """Inject faults, each when work flows again after the one before, or at once."""
        testbed = self._testbed
        await testbed.flowing(time.monotonic())
        begun_s = time.monotonic()
        for injection in self._injections:
            await asyncio.sleep(self._every_s * random.uniform(0.5, 1.5))
            if time.monotonic() - begun_s > self._duration_s:
                break
            if not (injection.at_once and self._injected):
                await testbed.flowing(self._injected[-1][1] + _SETTLE_S if self._injected else begun_s)
            await self._inject(injection, begun_s)
        (testbed.records / "hurry").touch()
        await self._inject(self._final, begun_s)

    async def _inject(self, injection, begun_s):
        injected_s, self._doing = time.monotonic(), injection.fault.kind
        target = await self._testbed.inject(injection)
        self._injected.append((injected_s, time.monotonic(), injection, target))
        self._echo(f"{injected_s - begun_s:7.1f} s  {injection.fault.kind:32} {target}")

    def _outcome(self, begun_s, verdict, violations, ended_s=None):
        testbed = self._testbed
        work = [begun_s, *times(testbed.records, "arrivals", "steps"), ended_s or time.monotonic()]
        stood_s, since_s = longest_standstill(work, testbed.excused)
        if stood_s > self._bound_s:
            violations = [*violations, f"work stood still for {stood_s:.0f} s, more than {self._bound_s:g}"]
        return {
            "exact": all_exact(verdict, EPOCHS),
            "violations": violations,
            "verdict": [dataclasses.asdict(v) | {"exact": v.exact} for v in verdict],
            "standstill_s": round(stood_s, 1),
            "standstill_after": max(
                ((s, injection.fault.kind) for s, _, injection, _ in self._injected if s <= since_s + 1),
                default=(0, "start"),
            )[1],
            "command_starts": testbed.command.starts,
            "command_ends": [
                {"code": code, "reason": why, "output": output} for _, code, why, output in testbed.command.ends
            ],
            "injections": self._gaps(),
            "arrivals": times(testbed.records, "arrivals"),
        }

    def _gaps(self):
        found = gaps([injected_s for injected_s, *_ in self._injected], times(self._testbed.records, "arrivals"))
        return [
            {"kind": injection.fault.kind, "target": target, "injected_s": injected_s, "gap_s": gap_s}
            for (injected_s, _, injection, target), gap_s in zip(self._injected, found, strict=True)
        ]

    def _audit(self):
        """Return the failure that `sonorant audit` reports, empty if none."""
        command = [sys.executable, "-m", "sonorant.cli", "audit", str(self._testbed.run.path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return "" if done.returncode == 0 else f"exit code {done.returncode}: {(done.stderr or done.stdout)[-500:]}"

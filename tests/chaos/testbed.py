"""A run folder on disks of its own, the command that trains in it, and the injection of faults from outside."""

import asyncio
import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

from chaos.command import Command
from chaos.disk import SmallDisk
from chaos.process_tree import alive, processes_below
from chaos.standstill import Standstill, times
from chaos.windows import Aim

__all__ = ["Testbed"]

_RUN_MB, _LOGS_MB = 96, 16
_POLL_S = 0.05
_IN_USE = 69
_CUT_BYTES = 3  # times a fault's pick


class Testbed:
    """Below `folder`: the run, on a small disk if `on_disks`, and the records beside it.

    patience_s: how long anything may take before it counts as standing still. violations: violations, in words.
    excused: spans in which the test itself kept work from going on.
    """

    def __init__(self, folder, write, pace, patience_s, on_disks):
        self.folder, self.patience_s = folder, patience_s
        self.records = folder / "records"
        self.records.mkdir(parents=True)
        self.disks = {"run": SmallDisk(folder / "run", _RUN_MB), "logs": SmallDisk(folder / "run/logs", _LOGS_MB)}
        self._mounted = [disk for disk in self.disks.values() if on_disks and disk.mount()]
        self.run = write(folder / "run")
        (self.run.shards / "card.json").write_text("{}")
        recipe = shutil.copy(self.run.recipe, folder / "recipe.yaml")
        self.command = Command(Path(recipe), self.run.path, self.records, pace, folder / "command.out")
        self.violations, self.excused = [], []
        self._later = set()

    def flowed_since(self, since_s):
        """Whether an example arrived, or a step was taken, after a time."""
        return any(t > since_s for what in ("arrivals", "steps") for t in times(self.records, what)[-1:])

    async def flowing(self, since_s):
        """Wait until work flowed after a time; raises Standstill."""
        await self.until(lambda: self.flowed_since(since_s), "an example or a step")

    async def until(self, condition, what, poll_s=_POLL_S):
        """Wait until a condition returns something, and return that; raises Standstill after a while."""
        until_s = time.monotonic() + self.patience_s
        while not (found := condition()):
            if time.monotonic() > until_s:
                raise Standstill(f"{what} did not come within {self.patience_s:g} s; there are {self.processes()}")
            await asyncio.sleep(poll_s)
        return found

    def processes(self):
        return processes_below(self.command.pid) if self.command.pid else {}

    async def pid_of(self, noun, stage="", pick=0):
        """Return a process of the run, as soon as it is there."""
        name = stage if noun == "stage" else noun
        if noun == "command":
            return await self.until(lambda: self.command.pid, "the command")
        pids = await self.until(lambda: self.processes().get(name), f"a process of {name}")
        return pids[pick % len(pids)]

    async def inject(self, injection):
        """Inject one fault; return the name of its target. It is over then, except a short stop."""
        fault = injection.fault
        for _ in range(fault.gang_ends):
            self.command.gang_ended()
        if not fault.window:
            return await self._apply(injection, None)
        with Aim(self.records, fault.window) as aim:
            if fault.window in ("restore", "start"):  # a gang that begins comes there
                _send(await self.pid_of("rank"), signal.SIGKILL)
            rank = await self.until(aim.rank, f"a rank that is to write {fault.window}", poll_s=0.002)
            if fault.verb == "fill":
                self.disks[fault.noun].fill()
            else:
                return await self._apply(injection, rank)
        await self._full(fault.noun, injection.seconds)
        return fault.noun

    async def _apply(self, injection, rank):
        fault = injection.fault
        if fault.verb in ("fill", "hide", "cut", "second"):
            return await getattr(self, f"_{fault.verb}")(injection)
        if fault.noun == "command" and fault.verb in ("kill", "term"):
            await self.pid_of("command")
            getattr(self.command, fault.verb)()
            return "command"
        pid = rank if rank and fault.noun == "rank" else await self.pid_of(fault.noun, injection.stage, injection.pick)
        number = {"kill": signal.SIGKILL, "term": signal.SIGTERM}.get(fault.verb, signal.SIGSTOP)
        _send(pid, number)
        if fault.verb == "pause":
            self.excused.append((time.monotonic(), time.monotonic() + injection.seconds))
            self._in(injection.seconds, lambda: _send(pid, signal.SIGCONT))
        if fault.verb == "hang" and fault.noun != "mpirun":  # not detected until a rank ends
            await self.until(lambda: not alive(pid), f"the end of {fault.noun} {pid}, which hangs,")
        return f"{injection.stage if fault.noun == 'stage' else fault.noun} {pid}"

    async def _fill(self, injection):
        """Fill a disk, and kill a stage meanwhile: its restart must work without logs."""
        self.disks[injection.fault.noun].fill()
        with suppress(Standstill):
            _send(await self.pid_of("stage", injection.stage), signal.SIGKILL)
        await self._full(injection.fault.noun, injection.seconds)
        return f"{injection.fault.noun}, {injection.stage}"

    async def _full(self, noun, seconds):
        since_s = self.command.disk_full_s = time.monotonic()
        await asyncio.sleep(seconds)
        self.disks[noun].free()
        self.command.disk_full_s = time.monotonic()
        self.excused.append((since_s, time.monotonic()))

    async def _hide(self, injection):
        self.excused.append((time.monotonic(), time.monotonic() + injection.seconds))
        shards = list(self.run.shards.glob("train-*.tfrecord"))
        for shard in shards:
            shard.rename(shard.with_suffix(".away"))
        try:
            await asyncio.sleep(injection.seconds)
        finally:
            for shard in shards:
                shard.with_suffix(".away").rename(shard)
        return f"{len(shards)} shards"

    async def _cut(self, injection):
        """Make Redis lose its last writes: it dies, and its file ends before them."""
        pid = await self.pid_of("redis")
        _send(pid, signal.SIGSTOP)  # so that it writes nothing between the cut and its end
        files = sorted((self.run.redis / "appendonlydir").glob("*.incr.aof"), key=lambda path: path.stat().st_mtime)
        size = files[-1].stat().st_size if files else 0
        lost = min(size, 1 + _CUT_BYTES * injection.pick)
        if files:
            os.truncate(files[-1], size - lost)
        _send(pid, signal.SIGKILL)
        return f"redis {pid}, {lost} of {size} bytes"

    async def _second(self, injection):
        await self.pid_of("coordinator")
        before = self.run.recipe.read_bytes()
        code = await self.command.second()
        if code != _IN_USE:
            self.violations.append(f"a second command ended with exit code {code}, not {_IN_USE}")
        if self.run.recipe.read_bytes() != before:
            self.violations.append("a second command changed recipe.yaml")
            self.run.recipe.write_bytes(before)
        return "command"

    def _in(self, seconds, action):
        async def wait():
            await asyncio.sleep(seconds)
            action()

        task = asyncio.create_task(wait())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def close(self, keep):
        """End everything; keep: leave a copy of the run in `evidence`."""
        for task in list(self._later):
            task.cancel()
        await self.command.stop()
        for disk in self._mounted:
            disk.free()
        if keep:
            shutil.copytree(self.run.path, self.folder / "evidence", ignore=shutil.ignore_patterns("*.sock"))
        for disk in reversed(self._mounted):
            disk.unmount()


def _send(pid, number):
    with suppress(ProcessLookupError):
        os.kill(pid, number)

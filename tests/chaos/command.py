"""`sonorant train` itself, as a process that is started again at once whenever a fault ended it."""

import asyncio
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

from chaos.process_tree import processes_below

from services.process.leash import leashed
from services.process.log_tail import last_lines

__all__ = ["Command", "CommandFailed"]

_ROOT = Path(__file__).resolve().parents[2]
_INTERRUPTED = (130, -signal.SIGTERM, -signal.SIGINT)  # by a signal before its handler is installed, as Python starts
_TOO_OFTEN = 70
_DISK_CODES = (69, _TOO_OFTEN)  # of the command itself, or of a process that does not stay up
_GANG_STARTS, _GANG_WINDOW_S = 5, 600.0  # what services.supervisor.cluster allows
_DISK_S = 60.0
_AGAIN_S = 0.5
_LAST_LINES = 4


class CommandFailed(Exception):
    """The command ended without a fault that explains it."""


class Command:
    """The command for one run folder; `keep` starts it until it ends with exit code 0.

    ends: each end before, as (seconds, exit code, the fault that explains it, the end of its output).
    """

    def __init__(self, recipe: Path, run: Path, records: Path, pace: float, out: Path) -> None:
        self._arguments = ["train", "--recipe", str(recipe), "--run", str(run), "--data", str(run.parent)]
        settings = {"CHAOS_RECORDS": str(records), "CHAOS_PACE": str(pace), "TF_CPP_MIN_LOG_LEVEL": "2"}
        path = f"{_ROOT / 'tests/chaos/hook'}:{_ROOT}:{_ROOT / 'tests'}"
        self._environment = os.environ | settings | {"PYTHONPATH": path}
        self._out = out
        self._process = None
        self._killed, self._termed = False, False
        self._gang_ends = []
        self.disk_full_s = float("-inf")  # when a disk was full last
        self.starts = 0
        self.ends = []

    @property
    def pid(self):
        return self._process.pid if self._process is not None and self._process.returncode is None else None

    async def keep(self):
        """Start it, and again whenever it ends as it may after a fault; return after exit code 0."""
        while True:
            self._killed = self._termed = False
            self.starts += 1
            with open(self._out, "ab") as out:
                self._process = await self._spawn(out, [])
            code = await self._process.wait()
            if code == 0:
                return
            reason = self.explanation(code, time.monotonic())
            if reason is None:
                raise CommandFailed(f"sonorant train ended by itself with exit code {code}:\n{self._tail()}")
            self.ends.append((time.monotonic(), code, reason, self._tail()))
            if not self._killed:
                await asyncio.sleep(_AGAIN_S)

    async def second(self):
        """Run another one for the same run folder, of one epoch; return its exit code."""
        with open(self._out.with_name("second.out"), "ab") as out:
            process = await self._spawn(out, ["--set", "training.epochs=1"])
        return await process.wait()

    def kill(self):
        self._killed = True
        self._send(signal.SIGKILL)

    def term(self):
        self._termed = True
        self._send(signal.SIGTERM)

    def gang_ended(self):
        """Note that a fault costs the gang one of its starts."""
        self._gang_ends.append(time.monotonic())

    async def stop(self):
        """End it and all processes below it."""
        below = [pid for pids in processes_below(self.pid).values() for pid in pids] if self.pid else []
        self.kill()
        for pid in below:  # a stopped one would not end with its parent
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self._process is not None:
            await self._process.wait()

    async def _spawn(self, out, more):
        return await asyncio.create_subprocess_exec(
            *leashed([sys.executable, "-m", "sonorant.cli", *self._arguments, *more], os.getpid()),
            stdin=asyncio.subprocess.DEVNULL, stdout=out, stderr=out, env=self._environment, start_new_session=True,
        )  # fmt: skip

    def _send(self, number):
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def explanation(self, code, now_s):
        """Return the fault that explains this end of the command, None if there is none."""
        if self._killed and code == -signal.SIGKILL:
            return "killed"
        if self._termed and code in _INTERRUPTED:
            return "interrupted"
        if now_s - self.disk_full_s < _DISK_S and code in _DISK_CODES:
            return "disk full"
        recent = [at_s for at_s in self._gang_ends if at_s > now_s - _GANG_WINDOW_S]
        return "gang ended too often" if code == _TOO_OFTEN and len(recent) > _GANG_STARTS else None

    def _tail(self):
        return last_lines(self._out, _LAST_LINES)

"""The trainer's ranks under `mpirun`, started again as a gang when one of them dies."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from services.local.child import Process, ProcessFailed
from services.runtime.leash import leashed
from services.runtime.restarts import FINAL_CODES, RestartPolicy

__all__ = ["Gang", "mpirun"]

log = structlog.get_logger()

_CHECKPOINT_S = 60.0


class Gang:
    """Runs `command` until it leaves with exit code 0 and training is `complete`: the code alone says too little."""

    def __init__(
        self,
        command: Sequence[str],
        log_file: Path,
        environment: dict[str, str],
        complete: Callable[[], bool],
        policy: RestartPolicy,
    ) -> None:
        self.restarts = 0
        self.started_s = float("inf")
        self._command = command
        self._log_file = log_file
        self._environment = environment
        self._complete = complete
        self._policy = policy
        self._process: Process | None = None
        self._stopping = False

    async def run(self) -> None:
        """Return once training is complete or `stop` was called; raises `ProcessFailed` when it dies too often."""
        while not self._stopping:
            self._process = await Process.start("trainer", self._command, self._log_file, self._environment)
            self.started_s = time.monotonic()
            code = await self._process.wait()
            self._process.kill_group()
            if self._stopping or (code == 0 and self._complete()):
                return
            pause_s = None if code in FINAL_CODES else self._policy.ended(time.monotonic())
            if pause_s is None:
                raise ProcessFailed("trainer", code, self._log_file)
            log.warning("gang_died", code=code, again_in_s=pause_s)
            await asyncio.sleep(pause_s)
            self.restarts += 1

    @property
    def running(self) -> Process | None:
        """Its mpirun, unless that has ended or is not started; `started_s` is since when, on the monotonic clock."""
        return self._process if self._process is not None and self._process.code is None else None

    def abort(self) -> None:
        """End at once a gang that hangs; `run` starts another."""
        if self._process is not None:
            self._process.kill_group()

    async def stop(self) -> None:
        """Let the ranks write a checkpoint and leave.

        mpirun hands SIGUSR1 on to them; after SIGTERM it would kill them a second later.
        """
        self._stopping = True
        if self._process is None or self._process.code is not None:
            return
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, signal.SIGUSR1)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), _CHECKPOINT_S)
        self.kill()

    def kill(self) -> None:
        """End at once what is left; the ranks are on mpirun's leash."""
        self._stopping = True
        self.abort()


def mpirun(ranks: int, command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` as `ranks` ranks on this machine."""
    # Quiet: what mpirun says of a rank that failed would hide the rank's own last words.
    options = ["--quiet", "--oversubscribe", "--bind-to", "none", "-np", str(ranks)]
    if os.geteuid() == 0:
        options.insert(0, "--allow-run-as-root")
    return ["mpirun", *options, *leashed([sys.executable, *command], parent=0)]

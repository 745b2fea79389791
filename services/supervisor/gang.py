"""The trainer's ranks under `mpirun`, started again as a gang when one of them dies."""

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from services.process.leash import leashed
from services.process.restarts import FINAL_CODES, RestartPolicy
from services.supervisor.child import Child, Process

__all__ = ["Gang", "mpirun"]


class Gang(Child):
    """Keeps `command` up until it exits with code 0 and training is `complete`: the code alone does not suffice.

    `keep` also returns after `stop`, which lets the ranks write a checkpoint, and raises `ProcessFailed` at once after
    an exit code that a restart cannot mend. checkpoint: name of the newest one, empty before the first: gangs that end
    before the next one are counted, however long they live.
    """

    _drain_signal = signal.SIGUSR1
    """mpirun forwards it to its ranks; after SIGTERM it would kill them a second later."""

    def __init__(
        self,
        command: Sequence[str],
        log_file: Path,
        environment: dict[str, str],
        complete: Callable[[], bool],
        checkpoint: Callable[[], str],
        policy: RestartPolicy,
    ) -> None:
        super().__init__("trainer", lambda _: command, log_file, environment, policy)
        self.started_s = float("inf")
        """Start of the present gang, on the monotonic clock."""
        self._complete = complete
        self._checkpoint = checkpoint

    def kill(self) -> None:
        """End at once what is left, for good; the ranks are on mpirun's leash."""
        self._stopping = True
        self.abort()

    async def _start(self) -> Process:
        process = await super()._start()
        self.started_s = time.monotonic()
        return process

    def _progress(self) -> str:
        newest = self._checkpoint()
        return f"checkpoint {newest}" if newest else "the start, before a first checkpoint"

    def _is_final(self, code: int) -> bool:
        return code in FINAL_CODES

    def _is_over(self, end: int | OSError) -> bool:
        return end == 0 and self._complete()


def mpirun(ranks: int, command: Sequence[str]) -> list[str]:
    """Return the command that runs `command` as `ranks` ranks on this machine."""
    # Quiet: mpirun's report of a failed rank would hide the end of the rank's own log.
    options = ["--quiet", "--oversubscribe", "--bind-to", "none", "-np", str(ranks)]
    if os.geteuid() == 0:
        options.insert(0, "--allow-run-as-root")
    return ["mpirun", *options, *leashed([sys.executable, *command], parent=0)]

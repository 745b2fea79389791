"""One process of the local cluster: started on a leash, its output in a log, restarted when it ends."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import structlog

from services.process.leash import leashed
from services.process.log_tail import last_lines
from services.process.restarts import RestartPolicy
from sonorant.errors import SonorantError

__all__ = ["Child", "Process", "ProcessFailed"]

log = structlog.get_logger()


class ProcessFailed(SonorantError):
    """A process of the local cluster that does not stay up.

    The message has how it ended, the end of its log, and in its last line why it is not restarted.
    """

    def __init__(
        self, name: str, end: int | OSError, log_file: Path, reason: str, exit_code: int | None = None
    ) -> None:
        """end: exit status, or why it could not be started. reason: why it is not restarted. exit_code: None: 70."""
        tail = f"its log, {log_file}, ends with:\n{last_lines(log_file)}"
        self.exit_code = exit_code or self.exit_code
        super().__init__(f"{name} {_ended(end)}; {tail}\n{name} is not restarted: {reason}")


class Process:
    """A running process and its group; `code` is its exit status, negative for a signal, None while it runs."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self._process = process

    @classmethod
    async def start(cls, name: str, command: Sequence[str], log_file: Path, environment: dict[str, str]) -> "Process":
        """Start `command` in a group of its own, so that a Ctrl-C in the terminal reaches the supervisor only."""
        with open(log_file, "ab") as output:
            process = await asyncio.create_subprocess_exec(
                *leashed(command, os.getpid()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
            )
        log.info("process_started", name=name, pid=process.pid)
        return cls(name, process)

    @property
    def pid(self) -> int:
        """The process's number."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Exit status."""
        return self._process.returncode

    @property
    def stopped(self) -> bool:
        """Whether a signal keeps it, or a process that it started, from running, such as one of mpirun's ranks."""
        return any(_is_stopped(pid) for pid in _with_descendants(self.pid))

    async def wait(self) -> int:
        """Wait for the end; return the exit status."""
        return await self._process.wait()

    def kill_group(self) -> None:
        """End at once whatever is left of the process's group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    async def stop(self, grace_s: float, request: signal.Signals = signal.SIGTERM) -> None:
        """Request the drain, wait, then kill what is left."""
        if self.code is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(request)
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.wait(), grace_s)
        self.kill_group()
        await self.wait()


class Child:
    """Keeps one process of the cluster up.

    command: given the number of starts so far, returns what to run. `keep` runs until cancelled or `stop`, or raises
    `ProcessFailed` when the process dies too often. Only `stop` ends it for good: a process that
    exits by itself, or at a foreign signal, is restarted, whatever its exit code.
    """

    _drain_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(
        self,
        name: str,
        command: Callable[[int], Sequence[str]],
        log_file: Path,
        environment: dict[str, str],
        policy: RestartPolicy | None = None,
    ) -> None:
        self.name = name
        self.restarts = 0
        self._command = command
        self._log_file = log_file
        self._environment = environment
        self._policy = policy or RestartPolicy()
        self._process: Process | None = None
        self._stopping = False

    async def keep(self) -> None:
        """Start it, and restart it whenever it ends or cannot be started."""
        while True:
            end = await self._live()
            if self._stopping or self._is_over(end):
                return
            if isinstance(end, int) and self._is_final(end):
                reason = f"a restart cannot mend exit code {end}"
                raise ProcessFailed(self.name, end, self._log_file, reason, end)
            pause_s = self._policy.ended(time.monotonic(), self._progress())
            if pause_s is None:
                raise ProcessFailed(self.name, end, self._log_file, self._policy.limit)
            log.warning("process_died", name=self.name, end=str(end), again_in_s=pause_s)
            await asyncio.sleep(pause_s)
            if self._stopping:
                return
            self.restarts += 1

    async def _live(self) -> int | OSError:
        """Start the process and wait for its end; return its exit status, or why it could not be started."""
        try:
            process = await self._start()
        except OSError as error:  # its log, or another process, exceeds a limit
            return error
        code = await process.wait()
        process.kill_group()
        return code

    async def _start(self) -> Process:
        self._process = await Process.start(self.name, self._command(self.restarts), self._log_file, self._environment)
        if self._stopping:  # `stop` was called during the start, and found no process
            self._process.kill_group()
        return self._process

    def _progress(self) -> str:
        """Return the point that its work has reached (see `RestartPolicy.ended`)."""
        return ""

    def _is_final(self, code: int) -> bool:
        """Whether no restart can mend the exit code."""
        del code
        return False

    def _is_over(self, end: int | OSError) -> bool:
        """Whether it has done all that it was started for."""
        del end
        return False

    @property
    def running(self) -> Process | None:
        """The process, unless it has ended or is not started."""
        return self._process if self._process is not None and self._process.code is None else None

    def abort(self) -> None:
        """End at once a process that hangs; `keep` starts another."""
        if self._process is not None:
            self._process.kill_group()

    async def stop(self, grace_s: float) -> None:
        """Request its drain; it is not restarted."""
        self._stopping = True
        if self._process is not None:
            await self._process.stop(grace_s, self._drain_signal)


def _ended(end: int | OSError) -> str:
    if isinstance(end, OSError):
        return f"cannot be started: {end}"
    return f"was killed by {signal.Signals(-end).name}" if end < 0 else f"ended with exit code {end}"


def _with_descendants(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):  # it has just ended
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in children.read_text().split():
                yield from _with_descendants(int(child))


def _is_stopped(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in ("T", "t")
    except OSError:  # it has just ended
        return False

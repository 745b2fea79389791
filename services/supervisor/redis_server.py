"""The local cluster's Redis: its configuration, its socket, and waiting until it answers."""

import asyncio
import os
import shutil
import tempfile
import time
from pathlib import Path

import redis.asyncio
import structlog
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from services.process.log_tail import last_lines
from sonorant.atomic import atomic_write, make_folder
from sonorant.errors import Unavailable

__all__ = ["LocalRedis"]

log = structlog.get_logger()

_UNREADABLE = "Bad file format reading the append only file"
_ANSWER_S = 2.0  # one that is stopped accepts connections and does not answer
_LONGEST_SOCKET_PATH = 100  # the kernel takes 107 bytes
_CONFIGURATION = """# Written by sonorant; the ledger of one training run.
port 0
unixsocket "{socket}"
unixsocketperm 700
dir "{folder}"
save ""
appendonly yes
appendfsync always
daemonize no
"""


class LocalRedis:
    """The run's Redis: its files, configuration and address.

    It listens on a unix socket that only this user may open, below the run folder; a socket's path must be short, so a
    deep run folder gets it in a private temporary folder instead.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        make_folder(self._folder)
        self._folder.chmod(0o700)
        self._elsewhere: tempfile.TemporaryDirectory[str] | None = None
        socket = self._folder / "redis.sock"
        if len(str(socket)) > _LONGEST_SOCKET_PATH:
            self._elsewhere = tempfile.TemporaryDirectory(prefix="sonorant-redis-")
            socket = Path(self._elsewhere.name) / "redis.sock"
        self.url = f"unix://{socket}"
        self._configuration = self._folder / "redis.conf"
        atomic_write(self._configuration, _CONFIGURATION.format(socket=socket, folder=self._folder))

    @property
    def command(self) -> list[str]:
        """What to run."""
        return ["redis-server", str(self._configuration)]

    def command_after(self, log_file: Path) -> list[str]:
        """Return what to run, after what `log_file` ends with.

        An append-only file that Redis could not read, such as one that a power cut has filled up with zeros, is
        moved aside: the ledger is restored from a checkpoint anyway.
        """
        damaged, aside = self._folder / "appendonlydir", self._folder / "appendonlydir.damaged"
        if damaged.exists() and _UNREADABLE in last_lines(log_file).splitlines()[-1]:
            shutil.rmtree(aside, ignore_errors=True)
            os.replace(damaged, aside)
            log.warning("append_only_file_damaged", moved_to=str(aside))
        return self.command

    async def wait_ready(self, patience_s: float, log_file: Path) -> None:
        """Wait until it answers and has read its append-only file; raises Unavailable if it does not."""
        client = redis.asyncio.Redis.from_url(
            self.url, socket_timeout=_ANSWER_S, socket_connect_timeout=_ANSWER_S, retry=Retry(NoBackoff(), 0)
        )
        deadline = time.monotonic() + patience_s
        try:
            while True:
                try:
                    await client.ping()
                    return
                except (redis.ConnectionError, redis.TimeoutError, OSError) as error:
                    if time.monotonic() > deadline:
                        raise Unavailable(
                            f"Redis at {self.url} does not answer after {patience_s:g} s ({error}); see {log_file}"
                        ) from error
                    await asyncio.sleep(0.05)
        finally:
            await client.aclose()

    def remove_socket(self) -> None:
        """Remove the socket's temporary folder, if it has one."""
        if self._elsewhere is not None:
            self._elsewhere.cleanup()

"""The recognizer under load: one that is started on a core of its own, or any that listens already."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import usage
from services.process.child_server import serving_child
from sonorant.errors import Unavailable
from sonorant.recipe.document import Override
from sonorant.recipe.loading import dump_recipe, load_recipe

__all__ = ["Target", "started", "started_recognizer", "there"]

_START_S = 180.0
_GRACE_S = 10.0
_MOST_STREAMS = 4096
_LOCAL = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Target:
    """A server: its address; its process, None on another machine; cores of its own, and those of the clients."""

    address: str
    pid: int | None
    cores: Sequence[int]
    client_cores: Sequence[int]

    @property
    def process(self) -> int:
        """The server's process; raises Unavailable for one on another machine."""
        if self.pid is None:
            raise Unavailable(f"{self.address}: no process of this machine that may be looked at; leave out --server")
        return self.pid


@contextmanager
def started_recognizer(exports: Path, threads: int = 1, **serving: object) -> Iterator[Target]:
    """Serve the models below `exports` by so many workers, pinned to the first core.

    serving: keys of that section. `max_streams` is lifted, so that what refuses a stream is the measured headroom.
    """
    command = [sys.executable, "-m", "services.recognizer", "--exports", str(exports), "--port", "0"]
    command += ["--threads", str(threads), "--host", "127.0.0.1", "--http-port", "0", "--api-keys", ""]
    with tempfile.TemporaryDirectory(prefix="sonorant-bench-") as folder:
        recipe = Path(folder) / "recipe.yaml"
        first = next(iter(sorted(exports.glob("*/*/recipe.yaml"))))
        recipe.write_text(_with_limits(first, {"max_streams": _MOST_STREAMS, **serving}), encoding="utf-8")
        command += ["--recipe", str(recipe)]
        with started(lambda port_file: [*command, "--port-file", str(port_file)]) as target:
            yield target


@contextmanager
def started(command: Callable[[Path], Sequence[str]]) -> Iterator[Target]:
    """Run a server on the first core while the context lasts; `command` takes the file that it writes its port to.

    Clients get the other cores, or share the only one. Raises Unavailable if it does not start.
    """
    first, *others = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="sonorant-bench-") as folder:
        port_file, log = Path(folder) / "port", Path(folder) / "log"
        line = command(port_file)
        with log.open("wb") as output:
            try:
                process = subprocess.Popen(
                    line, stdout=output, stderr=output, preexec_fn=lambda: os.sched_setaffinity(0, {first})
                )
            except OSError as error:
                raise Unavailable(f"{line[0]}: cannot be run: {error.strerror}") from error
        with serving_child(process, "server", port_file, log, _START_S, _GRACE_S) as port:
            yield Target(f"127.0.0.1:{port}", process.pid, [first], others or [first])


@contextmanager
def there(address: str, **serving: object) -> Iterator[Target]:
    """Yield a server that listens already at HOST:PORT; on this machine its process is found, for its CPU time.

    serving: what the experiment would set of a server of its own; this one is as it is.
    """
    host, _, port = address.rpartition(":")
    cores = sorted(os.sched_getaffinity(0))
    pid = usage.listener(int(port)) if host in _LOCAL else None
    own = [] if pid is None else sorted(os.sched_getaffinity(pid))
    yield Target(address, pid, own, [core for core in cores if core not in own] or cores)


def _with_limits(recipe: Path, serving: Mapping[str, object]) -> str:
    overrides = [Override(f"serving.{key}", str(value), "bench") for key, value in serving.items()]
    return dump_recipe(load_recipe(recipe, overrides))

"""The recognizer under paced streams: latency of final results, and CPU time of the server alone.

The server has one processor and one worker, the clients, in a process of their own, another. Streams send chunks of
0.1 s in real time, whatever comes back, and begin again when their recording is over. The model has the size of
`recipes/digits.yaml`, and weights that make it output words now and then. Goal: at 150 streams 95 % of final results
within 300 ms, and at most 6 ms of CPU time an audio-second.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.rigs.paced_streams import Heard, speak
from benchmarks.rigs.process import Child
from benchmarks.row import Progress, Row

__all__ = ["rows"]

_STREAMS = (1, 10, 64, 150, 200)
_SECONDS = 10.0
_RATE_HZ = 8000
_START_S = 60.0


class _Server(NamedTuple):
    port: int
    pid: int


def rows(progress: Progress) -> Iterator[Row]:
    """Yield latency and CPU time for each number of streams."""
    recordings = [_murmur(seconds, seed) for seed, seconds in enumerate(np.linspace(2.0, 4.0, 8))]
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder)) as server:
        for streams in _STREAMS:
            progress(f"{streams} streams")
            with Child(speak, server.port, recordings, _RATE_HZ, streams) as clients:
                before_s, began_s = _cpu_s(server.pid), time.monotonic()
                heard: Heard = clients.query(_SECONDS)  # type: ignore[arg-type]  # a number is a question too
                used = (_cpu_s(server.pid) - before_s) / (time.monotonic() - began_s)
            case = f"{streams} streams on a core"
            yield Row("final result", case, 1000 * float(np.quantile(heard.finals_s, 0.95)), "ms (p95)")
            yield Row("failed streams", case, heard.failed, "1")
            yield Row("server", case, used, "cores")


@contextmanager
def _server(folder: Path) -> Iterator[_Server]:
    """Serve a model by one worker on the first processor; clients, children of this process, have the others."""
    exports = folder / "exports"
    subprocess.run([sys.executable, "-m", "benchmarks.rigs.digits_export", str(exports)], check=True)
    first, *others = sorted(os.sched_getaffinity(0))
    port_file = folder / "port"
    command = [sys.executable, "-m", "services.recognizer", "--exports", str(exports), "--port", "0"]
    command += ["--port-file", str(port_file), "--threads", "1", "--recipe", str(next(exports.glob("*/1/recipe.yaml")))]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, preexec_fn=lambda: os.sched_setaffinity(0, {first}))
    try:
        os.sched_setaffinity(0, others or {first})
        deadline_s = time.monotonic() + _START_S
        while not port_file.exists():
            if process.poll() is not None or time.monotonic() > deadline_s:
                raise RuntimeError("the recognizer did not start")
            time.sleep(0.1)
        yield _Server(int(port_file.read_text()), process.pid)
    finally:
        os.sched_setaffinity(0, {first, *others})
        process.terminate()
        process.wait()


def _cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _murmur(seconds: float, seed: int) -> bytes:
    """Return 16-bit noise with the rhythm of speech."""
    noise = np.random.default_rng(seed).standard_normal(round(seconds * _RATE_HZ)) * 0.1
    t = np.arange(len(noise)) / _RATE_HZ
    noise *= (np.sin(2 * np.pi * 3 * t) > -0.3) * (1 + np.sin(2 * np.pi * (200 + 90 * np.floor(t * 3)) * t))
    return bytes(np.clip(np.rint(noise * 32767), -32768, 32767).astype("<i2"))

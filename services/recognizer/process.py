"""A recognizer as a child process that serves while the context lasts."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from services.process.log_tail import last_lines
from sonorant.errors import Unavailable

__all__ = ["running_recognizer"]

# Loading TensorFlow and the model takes seconds, longer on a busy machine.
_START_LIMIT_S = 120.0
_LOOK_EVERY_S = 0.05
_GRACE_S = 5.0


@contextmanager
def running_recognizer(exports: Path, log: Path | None = None) -> Iterator[str]:
    """Serve the models below `exports` on a free port of this machine; yield its address, "host:port".

    log: file for the recognizer's log; absent: shown only if it does not start. Raises Unavailable if it does not.
    """
    with tempfile.TemporaryDirectory(prefix="sonorant-recognizer-") as folder:
        port_file = Path(folder) / "port"
        log_file = log or Path(folder) / "log"
        log_file.parent.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "services.recognizer", "--exports", str(exports), "--host", "127.0.0.1"]
        command += ["--port", "0", "--port-file", str(port_file), "--grace-s", str(_GRACE_S)]
        command += ["--api-keys", ""]
        with open(log_file, "ab") as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            yield f"127.0.0.1:{_port(process, port_file, log_file)}"
        finally:
            _stop(process)


def _port(process: subprocess.Popen[bytes], port_file: Path, log_file: Path) -> int:
    for _ in range(round(_START_LIMIT_S / _LOOK_EVERY_S)):
        if port_file.exists():
            return int(port_file.read_text())
        try:
            code = process.wait(_LOOK_EVERY_S)
        except subprocess.TimeoutExpired:
            continue
        raise Unavailable(f"the recognizer ended at once (exit code {code}): {last_lines(log_file, 1).strip()}")
    raise Unavailable(f"the recognizer was not ready after {_START_LIMIT_S:g} s; see {log_file}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_GRACE_S + 5.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

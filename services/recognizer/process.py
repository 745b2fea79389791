"""A recognizer as a child process that serves while the context lasts."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from services.process.child_server import serving_child
from services.process.leash import leashed
from services.process.signals import leaving_in_order

__all__ = ["running_recognizer"]

# Loading takes seconds, longer on a busy machine.
_START_LIMIT_S = 120.0
_GRACE_S = 5.0


@contextmanager
def running_recognizer(exports: Path, log: Path | None = None) -> Iterator[str]:
    """Serve the models below `exports` on a free port of this machine; yield its address, "host:port".

    log: file for the recognizer's log; absent: shown only if it does not start. Raises Unavailable if it does not.
    It ends with this process, however that ends; its temporary folder is gone once it serves.
    """
    with leaving_in_order(), ExitStack() as serving:
        with tempfile.TemporaryDirectory(prefix="sonorant-recognizer-") as folder:
            port_file = Path(folder) / "port"
            log_file = log or Path(folder) / "log"
            log_file.parent.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, "-m", "services.recognizer", "--exports", str(exports), "--host", "127.0.0.1"]
            command += ["--port", "0", "--port-file", str(port_file), "--grace-s", str(_GRACE_S)]
            command += ["--api-keys", ""]
            with open(log_file, "ab") as output:
                process = subprocess.Popen(leashed(command, os.getpid()), stdout=output, stderr=subprocess.STDOUT)
            child = serving_child(process, "recognizer", port_file, log_file, _START_LIMIT_S, _GRACE_S + 5.0)
            port = serving.enter_context(child)
        yield f"127.0.0.1:{port}"

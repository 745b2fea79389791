import os
import socket
import subprocess
import sys

import pytest
from rigs.waiting import eventually

from benchmarks.load import usage

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
BUSY = (
    "import time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass\nprint(1, flush=True)\ninput()"
)
PARENT = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}], check=True)"


def test_cpu_time_and_memory_of_children_count():
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        parent.stdout.readline()
        own = sum(map(int, usage._stat(parent.pid)[11:13])) / os.sysconf("SC_CLK_TCK")
        assert usage.cpu_s(parent.pid) >= own + 0.15
        assert usage.rss_bytes(parent.pid) > usage.rss_bytes(parent.pid) // 2 > 1 << 20
        parent.stdin.write(b"\n")
        parent.stdin.close()
    eventually(lambda: usage.cpu_s(parent.pid) == 0)


HOLDING = (
    "import os, threading\nfor _ in range(5): os.dup(0)\n"
    "for _ in range(3): threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
    "print(1, flush=True)\ninput()"
)


def test_threads_and_descriptors_are_those_that_are_held():
    with subprocess.Popen([sys.executable, "-c", HOLDING], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert usage.threads(process.pid) == 1 + 3
        assert usage.descriptors(process.pid) == len(os.listdir(f"/proc/{process.pid}/fd")) >= 3 + 5
        process.stdin.write(b"\n")
        process.stdin.close()


def test_the_process_that_listens_on_a_port_is_found():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert usage.listener(port) == os.getpid()
    assert usage.listener(port) is None

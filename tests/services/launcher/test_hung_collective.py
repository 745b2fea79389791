"""A rank that lives but never comes to a step that the other waits in: both start again."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rigs.waiting import PATIENCE_S

RANK = """
import sys, time
from pathlib import Path
from services.launcher.rank_process import await_gang
from services.process.watchdog import Watchdog
from sonorant.tensorflow import tf
import horovod.tensorflow as hvd

await_gang()
hvd.init()
hvd.allreduce(tf.constant(0.0), op=hvd.Sum)  # which loads what takes seconds
hung = Path(sys.argv[1])
with Watchdog(10) as watchdog:
    watchdog.iterated()
    assert float(hvd.allreduce(tf.constant(1.0), op=hvd.Sum)) == 2
    if hvd.rank() == 1 and not hung.exists():
        hung.touch()
        time.sleep(1000)
    watchdog.iterated()
    assert float(hvd.allreduce(tf.constant(2.0), op=hvd.Sum)) == 4
"""


@pytest.fixture
def launch(tmp_path, redis_url):
    """Starts the launcher of a rank that does this."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])}
    command = ["--ranks", "2", "--host", "127.0.0.1", "--redis", redis_url]
    with contextlib.ExitStack() as stack:

        def launch(rank):
            started = stack.enter_context(
                subprocess.Popen(
                    [
                        *(sys.executable, "-m", "services.launcher", *command, "--rank", str(rank)),
                        *("--", sys.executable, "-c", RANK, str(tmp_path / "hung")),
                    ],
                    env=environment,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            stack.callback(started.kill)
            in_vain = threading.Timer(PATIENCE_S, started.kill)
            in_vain.start()
            stack.callback(in_vain.cancel)
            return started

        yield launch


def told(launcher):
    """Return what a launcher and its ranks said until training was complete."""
    lines = []
    for line in launcher.stderr:
        lines.append(line)
        if '"event": "training_complete"' in line:
            break
    return "".join(lines)


def test_a_collective_that_hangs_starts_the_gang_again(launch, tmp_path):
    launchers = [launch(rank) for rank in range(2)]
    said = [told(launcher) for launcher in launchers]
    for launcher in launchers:
        launcher.send_signal(signal.SIGTERM)
        assert launcher.wait(PATIENCE_S) == 0
    assert (tmp_path / "hung").exists()
    assert said[0].count('"event": "gang_begun"') == 2, said[0]
    assert any('"event": "rank_died"' in one and '"code": 75' in one for one in said), said

"""A command that runs another one."""

import signal
import subprocess
import sys

import pytest
from rigs.sessions import leader, session
from rigs.waiting import eventually

PROGRAM = """
import sys
from sonorant.cli import child
waiting = [sys.executable, "-S", "-c", "print('up', flush=True); import time; time.sleep(600)"]
child.leashed = lambda command, parent, leashed=child.leashed: leashed(waiting, parent)
ended = child.run_command("demo")
print(ended, flush=True)
"""


@pytest.fixture
def parent():
    with leader([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        while process.stdout.readline() != "up\n":
            pass
        yield process


@pytest.mark.parametrize(("end", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_what_ends_the_command_ends_the_other_one_first(parent, end, code):
    parent.send_signal(end)
    assert parent.stdout.read() == f"Ended(code={code}, interrupted=True)\n"
    assert parent.wait(60) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_other_one_ends_with_a_command_that_is_killed(parent):
    parent.kill()
    parent.wait()
    eventually(lambda: not session(parent.pid))

"""A recognizer of a command's own ends with the command, however that ends."""

import os
import signal
import subprocess
import sys

import pytest
from rigs.sessions import leader, session
from rigs.waiting import eventually

from services.recognizer.process import running_recognizer

COMMAND = """
import sys, time
from pathlib import Path
from services.recognizer.process import running_recognizer
with running_recognizer(Path(sys.argv[1])) as address:
    print(address, flush=True)
    time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(("end", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGKILL", -9)])
def test_a_command_that_is_ended_leaves_no_recognizer_and_no_folder_behind(store, tmp_path, end, code):
    exports = store.get().folder.parent.parent
    program = [sys.executable, "-c", COMMAND, str(exports)]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with leader(program, stdout=subprocess.PIPE, env=environment) as command:
        assert command.stdout.readline().startswith(b"127.0.0.1:")
        assert len(session(command.pid)) == 2
        command.send_signal(signal.Signals[end])
        assert command.wait(60) == code
        eventually(lambda: not session(command.pid))
    assert not list(tmp_path.iterdir())


def test_a_command_whose_recognizer_serves_has_handlers_of_before_in_the_end(store):
    before = signal.getsignal(signal.SIGTERM)
    with running_recognizer(store.get().folder.parent.parent):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before

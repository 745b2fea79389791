import subprocess
import sys

import pytest

from services.process.child_server import serving_child
from sonorant.errors import Unavailable

SERVES = "import time; open('port', 'w').write('4321\\n'); time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SERVES}"
SLOW = "print('still loading', flush=True); import time; time.sleep(600)"
FAILS = "print('first'); raise SystemExit('no model to serve')"


@pytest.fixture
def child(tmp_path):
    """Start a program, and return it and the context in which it serves."""

    def start(program, start_s=60.0, grace_s=60.0):
        with open(tmp_path / "log", "wb") as output:
            command = [sys.executable, "-S", "-c", program]
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=tmp_path)
        return process, serving_child(process, "recognizer", tmp_path / "port", tmp_path / "log", start_s, grace_s)

    return start


def test_its_port_is_that_of_its_file_and_it_is_terminated_in_the_end(child):
    process, serving = child(SERVES)
    with serving as port:
        assert (port, process.poll()) == (4321, None)
    assert process.returncode == -15


def test_one_that_does_not_heed_sigterm_is_killed(child):
    process, serving = child(DEAF, grace_s=0.1)
    with serving:
        pass
    assert process.returncode == -9


def test_one_that_ends_is_named_with_its_exit_code_and_last_line(child):
    _, serving = child(FAILS)
    with (
        pytest.raises(Unavailable, match=r"^the recognizer ended at once \(exit code 1\): no model to serve$"),
        serving,
    ):
        pass


def test_one_that_takes_too_long_is_named_with_its_log_and_ends(child, tmp_path):
    process, serving = child(SLOW, start_s=0.5)
    with pytest.raises(Unavailable, match=rf"^the recognizer was not ready after 0.5 s; see {tmp_path}/log: "), serving:
        pass
    assert process.returncode == -15

"""Processes that log: what kills a thread ends them, and no traceback shows the values of variables."""

import json
import subprocess
import sys

BEGIN = """
import sys, threading, structlog
from services.process.logging import configure_logging, log_to_file
configure_logging("tested", "one")
log = structlog.get_logger()
"""


def run(script, **pipes):
    return subprocess.run(
        [sys.executable, "-c", BEGIN + script], timeout=60, check=False, **({"stderr": subprocess.PIPE} | pipes)
    )


def lines(done):
    return [json.loads(line) for line in done.stderr.splitlines()]


def test_a_thread_that_an_error_ends_is_logged_and_ends_the_process():
    done = run("threading.Thread(target=lambda: 1 / 0, name='beats').start(); threading.Event().wait()")
    (line,) = lines(done)
    assert (done.returncode, line["event"], line["thread"]) == (75, "thread_died", "beats")
    assert line["exception"][0]["exc_type"] == "ZeroDivisionError"


def test_a_thread_that_exits_ends_nothing():
    done = run("thread = threading.Thread(target=sys.exit); thread.start(); thread.join()")
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_traceback_shows_no_values():
    done = run("""
def call(password): raise ValueError("no")
try: call("hunter2")
except ValueError as error: log.error("failed", exc_info=error)
""")
    assert lines(done)[0]["event"] == "failed"
    assert b"hunter2" not in done.stderr


def test_what_cannot_be_shown_costs_its_line_only():
    done = run("""
class Odd:
    def __repr__(self): raise ZeroDivisionError
log.info("odd", what=Odd())
log.info("even", what="\\ud800")
""")
    assert done.returncode == 0
    assert [line["event"] for line in lines(done)] == ["odd", "even"]
    assert lines(done)[0]["not_shown"] == "ZeroDivisionError"


def test_with_a_full_disk_and_with_no_standard_error_everything_goes_on():
    script = "log.info('a'); print('b', file=sys.stderr); raise SystemExit(3)"
    with open("/dev/full", "wb") as full:
        assert run(script, stderr=full).returncode == 3
    closed = "import os; os.close(2); sys.stderr = None; configure_logging('tested'); structlog.get_logger().info('a')"
    assert run(closed).returncode == 0


def test_a_log_file_takes_events_and_counts_what_it_cannot_take(tmp_path):
    path = tmp_path / "logs" / "supervisor.log"
    done = run(f"""
import pathlib, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
log_to_file(pathlib.Path({str(path)!r}), "supervisor")
log = structlog.get_logger()
log.info("one")
resource.setrlimit(resource.RLIMIT_FSIZE, (10, -1))
log.info("two")
resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
log.info("three")
""")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["event"] for line in found] == ["one", "log_lines_lost", "three"]
    assert found[1] | {"count": 1, "level": "warning", "service": "supervisor"} == found[1]

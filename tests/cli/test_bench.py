import json
import signal
import subprocess
import sys
from types import ModuleType

import pytest
import structlog
from click.testing import CliRunner
from rigs.sessions import leader, session
from rigs.waiting import eventually

from benchmarks.row import Row
from sonorant.cli.bench import command


@pytest.fixture
def bench(monkeypatch):
    """The command, with a benchmark `dsp` that takes no time."""

    def rows(progress):
        progress("vtlp")
        structlog.get_logger().info("link_open")
        yield Row("vtlp", "12 s", 4000.0, "audio-h/core-h", "librosa", 500.0)
        yield Row("limit", "12 s", 0.5, "of the limit")
        yield Row("streams", "12 s", 50, "1", "idle", 0.0)

    module = ModuleType("benchmarks.dsp")
    module.rows = rows
    monkeypatch.setitem(sys.modules, "benchmarks.dsp", module)
    return lambda *options: CliRunner().invoke(command, ["dsp", *options], catch_exceptions=False)


def test_rows_come_as_json_with_the_fields_that_readers_rely_on(bench):
    first, second, third = json.loads(bench("--json").stdout)
    assert first == {
        "name": "vtlp",
        "case": "12 s",
        "value": 4000.0,
        "unit": "audio-h/core-h",
        "peer": "librosa",
        "peer_value": 500.0,
        "ratio": 8.0,
    }
    assert second["ratio"] is third["ratio"] is None


def test_rows_are_printed_one_a_line_and_progress_apart(bench):
    result = bench()
    first, second, third = result.stdout.splitlines()
    assert first.split() == ["vtlp", "12", "s", "4000", "audio-h/core-h", "librosa", "500,", "ratio", "8"]
    assert second.split() == ["limit", "12", "s", "0.5", "of", "the", "limit"]
    assert third.split() == ["streams", "12", "s", "50", "1", "idle", "0"]
    assert "vtlp" in result.stderr


def test_another_name_is_refused_with_those_that_there_are():
    result = CliRunner().invoke(command, ["soup"])
    assert result.exit_code == 2
    assert "'dsp'" in result.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(("end", "code"), [("SIGTERM", 143), ("SIGHUP", 129), ("SIGKILL", -9)])
def test_a_benchmark_that_is_ended_leaves_no_process_behind(end, code):
    command = [sys.executable, "-m", "sonorant.cli", "bench", "links"]
    with leader(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as bench:
        assert any("1 producer" in line.decode() for line in bench.stderr)
        eventually(lambda: len(session(bench.pid)) >= 4)  # two producers and their fork server beside it
        bench.send_signal(signal.Signals[end])
        assert bench.wait(60) == code
        eventually(lambda: not session(bench.pid))

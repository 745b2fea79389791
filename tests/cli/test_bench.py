import json
import sys
from types import ModuleType

import pytest
from click.testing import CliRunner

from benchmarks.row import Row
from sonorant.cli.bench import command


@pytest.fixture
def bench(monkeypatch):
    """The command, with a benchmark `dsp` that takes no time."""

    def rows(progress):
        progress("vtlp")
        yield Row("vtlp", "12 s", 4000.0, "audio-h/core-h", "librosa", 500.0)
        yield Row("limit", "12 s", 0.5, "of the limit")

    module = ModuleType("benchmarks.dsp")
    module.rows = rows
    monkeypatch.setitem(sys.modules, "benchmarks.dsp", module)
    return lambda *options: CliRunner().invoke(command, ["dsp", *options], catch_exceptions=False)


def test_rows_come_as_json_with_the_fields_that_readers_rely_on(bench):
    first, second = json.loads(bench("--json").stdout)
    assert first == {
        "name": "vtlp",
        "case": "12 s",
        "value": 4000.0,
        "unit": "audio-h/core-h",
        "peer": "librosa",
        "peer_value": 500.0,
        "ratio": 8.0,
    }
    assert second["ratio"] is None


def test_rows_are_printed_one_a_line_and_progress_apart(bench):
    result = bench()
    first, second = result.stdout.splitlines()
    assert first.split() == ["vtlp", "12", "s", "4000", "audio-h/core-h", "librosa", "500,", "ratio", "8"]
    assert second.split() == ["limit", "12", "s", "0.5", "of", "the", "limit"]
    assert "vtlp" in result.stderr


def test_another_name_is_refused_with_those_that_there_are():
    result = CliRunner().invoke(command, ["soup"])
    assert result.exit_code == 2
    assert "'dsp'" in result.stderr

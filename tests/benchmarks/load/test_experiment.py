from collections import Counter

from benchmarks.load.experiment import step_rows
from benchmarks.load.step import Step


def step(*finals_s):
    return Step(4, 10.0, finals_s, (), (), (), Counter(OK=3), 0, 0, 12.0, 0.1, 0.1)


def test_a_step_without_results_is_said_to_have_no_latency():
    said = []
    names = {row.name for row in step_rows(step(), "4 streams", said.append)}
    assert said == ["4 streams: no results came, so that no latency was measured"]
    assert names == {"refused", "failed", "CPU, server", "CPU, clients"}


def test_nothing_is_said_of_a_step_that_was_answered():
    said = []
    assert "final result" in {row.name for row in step_rows(step(0.1), "4 streams", said.append)}
    assert said == []

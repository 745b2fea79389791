from collections import Counter

import pytest

from benchmarks.load.experiment import Results
from benchmarks.load.page import render_page
from benchmarks.load.step import Step


def step(streams, *finals_s):
    return Step(streams, 10.0, finals_s, (), (), (), Counter(OK=3), 0, 0, 12.0, 0.1, 0.1)


@pytest.mark.parametrize(
    ("steps", "shown"),
    [
        ([step(4)], []),
        ([step(4), step(8)], ["CPU time"]),
        ([step(4), step(8, 0.1)], ["Latency", "Distribution of final results", "CPU time"]),
    ],
)
def test_latencies_are_drawn_where_there_are_any_and_nothing_warns(steps, shown):  # a warning fails a test
    page = render_page(Results("ramp", 300.0, series={"recognizer": steps}))
    headings = ("Latency", "Distribution of final results", "CPU time")
    assert [each for each in headings if f"<h2>{each}</h2>" in page] == shown
    assert page.count("<td>recognizer<td>") == len(steps)

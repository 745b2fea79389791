from collections import Counter

import pytest

from benchmarks.load.step import _step
from benchmarks.load.stream import Heard

FROM_S, UNTIL_S = 100.0, 110.0


def heard(end_s, final_s=0.05, **noted):
    return Heard(end_s - 2.0, end_s, **({"status": "OK", "final_s": final_s, "interim_s": 0.02} | noted))


def step(*tries):
    return _step(4, FROM_S, UNTIL_S, tries, server_cpu_s=0.5, client_cpu_s=0.25)


def failed(status, over_s, retry_s=None):
    return Heard(over_s, over_s + 2.0, status, retry_s, over_s=over_s)


def test_streams_count_whose_audio_ends_in_the_window_by_the_set_times():
    measured = step(heard(99.9, 9.0), heard(100.0, 0.1), heard(109.9, 5.0), heard(110.0, 9.0), heard(105.0, status=""))
    assert measured.statuses == Counter(OK=2)
    assert measured.finals_s == [0.1, 5.0]


def test_refused_clients_count_as_long_as_they_wait_in_the_window():
    refused = [failed("RESOURCE_EXHAUSTED", over_s, 2.0) for over_s in (97.0, 99.0, 105.0, 110.5)]
    measured = step(heard(105.0), *refused)
    assert (measured.refused, measured.failed) == (2, 0)
    assert not measured.meets(300)


def test_other_errors_count_when_they_occur():
    measured = step(heard(105.0), *(failed("UNAVAILABLE", over_s) for over_s in (99.0, 101.0)))
    assert (measured.refused, measured.failed) == (0, 1)
    assert not measured.meets(300)


@pytest.mark.parametrize(
    ("tries", "met"),
    [
        ([heard(105.0, 0.299)] * 20, True),
        ([heard(105.0, 0.1)] * 19 + [heard(105.0, 9.0)], True),
        ([heard(105.0, 0.1)] * 18 + [heard(105.0, 9.0)] * 2, False),
        ([heard(105.0, interim_s=0.4)] * 20, False),
        ([heard(105.0, interim_s=None)] * 20, True),  # nothing was said
        ([], False),
    ],
)
def test_the_slo_is_met_by_95_percent_of_final_and_of_interim_results(tries, met):
    assert step(*tries).meets(300) is met


def test_figures_are_of_the_audio_that_was_sent_in_the_window():
    sent = [(99.95, 0.5), (100.05, 0.02), (103.0, 0.2), (109.95, 0.08), (110.05, 0.7)]
    document = step(heard(105.0, sent=sent, shown=3, changed=1)).document()
    assert document["audio_s"] == pytest.approx(0.3)
    assert document["cpu_ms_per_audio_s"] == pytest.approx({"server": 500 / 0.3, "clients": 250 / 0.3})
    assert document["cpu_ms_per_stream_s"] == pytest.approx({"server": 12.5, "clients": 6.25})
    assert document["flicker"] == pytest.approx(1 / 3)
    assert document["latency_ms"]["final"]["max"] == pytest.approx(50)

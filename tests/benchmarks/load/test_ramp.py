from collections import Counter
from contextlib import contextmanager

import pytest

from benchmarks.load import ramp as module
from benchmarks.load.experiment import Conditions, NothingMeasured, Results
from benchmarks.load.models import Model
from benchmarks.load.ramp import ramp
from benchmarks.load.recordings import Recording
from benchmarks.load.server import Target
from benchmarks.load.step import Step


def run(monkeypatch, finals_s, statuses, streams=(2,)):
    class Said:
        def __init__(self, *_):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def run(self, streams, seconds, model):
            answered = streams < 3
            return Step(
                streams,
                seconds,
                finals_s if answered else (),
                (),
                (),
                (),
                statuses if answered else Counter(),
                0,
                0,
                12.0,
                0.1,
                0.1,
            )

    @contextmanager
    def serve():
        yield Target("localhost:1", None, [0], [])

    monkeypatch.setattr(module, "Speakers", Said)
    recordings = [Recording(bytes(2 * 8000 * 6), 8000, 0.5), Recording(bytes(2 * 8000), 8000, 0.5)]
    conditions = Conditions(serve, [Model("digits", "digits")], recordings, streams, 3.0, 300.0, None, {})
    return list(ramp(conditions, Results("ramp", 300.0), lambda name: None))


def test_no_answer_at_all_is_no_figure(monkeypatch):
    with pytest.raises(NothingMeasured, match=r"2 streams: none came to its end within 3 s; the longest .* 6\.0 s"):
        run(monkeypatch, (), Counter())


@pytest.mark.parametrize("status", ["RESOURCE_EXHAUSTED", "INTERNAL"])
def test_answers_without_results_are_none_within_the_slo(monkeypatch, status):
    *_, last = run(monkeypatch, (), Counter({status: 3}))
    assert (last.name, last.value) == ("streams", 0)


def test_streams_within_the_slo_count(monkeypatch):
    *_, last = run(monkeypatch, (0.1,) * 9, Counter(OK=9))
    assert (last.name, last.value, last.unit) == ("streams", 2, "on a core")


def test_a_later_step_without_an_answer_leaves_what_was_measured(monkeypatch):
    *_, last = run(monkeypatch, (0.1,) * 9, Counter(OK=9), streams=(2, 4))
    assert (last.name, last.value) == ("streams", 2)

from functools import partial

import pytest
from rigs.babble import export_babble

from benchmarks.load import start as start_module
from benchmarks.load.experiment import Conditions, NotOurServer, Results
from benchmarks.load.server import started_recognizer, there
from benchmarks.load.start import start


def conditions(serve, publish):
    return Conditions(serve, [], [], (), 1.0, 300.0, publish, {})


def test_starts_of_a_recognizer_are_measured_to_its_readiness(tmp_path, monkeypatch):
    monkeypatch.setattr(start_module, "_STARTS", 2)
    export_babble(tmp_path)
    serve = partial(started_recognizer, tmp_path)
    rows = {(row.name, row.case): row.value for row in start(conditions(serve, print), Results("start", 300), print)}
    assert 0.2 < rows["ready after", "quickest start"] <= rows["ready after", "median"]
    assert rows["CPU, server", "quickest start"] > 0.2
    assert 50 < rows["memory", "no streams"] < 2000


def test_a_server_that_is_there_is_not_started():
    with pytest.raises(NotOurServer, match="leave out --server"):
        next(start(conditions(partial(there, "localhost:1"), None), Results("start", 300), print))

import os
import shutil
import threading

import pytest
from rigs.babble import export_babble

from services.recognizer import loading
from sonorant.errors import SonorantError
from sonorant.serving.model_choice import ModelChoice
from sonorant.serving.model_store import ModelStore


@pytest.mark.parametrize("error", [ValueError("of ours"), MemoryError("too large")])
def test_a_version_that_fails_in_any_way_is_refused_and_those_in_service_stay(tmp_path, monkeypatch, error):
    export_babble(tmp_path)
    store = ModelStore(tmp_path, lambda folder: loading.load_served(folder, streams=False))
    store.refresh()
    shutil.copytree(tmp_path / "babble/1", tmp_path / "babble/2")

    def failing(*_):
        raise error

    monkeypatch.setattr(loading, "check_warm_up", failing)
    with pytest.raises(SonorantError, match=type(error).__name__):
        loading.load_served(tmp_path / "babble/2", streams=True)
    (change,) = store.refresh()
    assert type(error).__name__ in change.refusal
    assert store.get(ModelChoice("babble")).version == 1


def test_only_a_version_that_is_loaded_beside_streams_has_a_low_priority_and_rests(tmp_path, monkeypatch):
    version = export_babble(tmp_path).path
    slept_s, priorities = [], []
    monkeypatch.setattr(loading.time, "sleep", slept_s.append)

    def priority():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    monkeypatch.setattr(loading, "check_warm_up", lambda *_: priorities.append(priority() - own))
    own = priority()
    loading.load_served(version, streams=False)
    assert not slept_s
    loading.load_served(version, streams=True)
    assert len(slept_s) > 1
    assert all(0 < seconds <= 0.1 for seconds in slept_s)
    assert priorities == [0, loading._NICENESS]
    assert priority() == own

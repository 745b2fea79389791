import os
import shutil
import subprocess
import sys
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


def priority():
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.fixture
def priorities(monkeypatch):
    """That of each thread that warms a version up."""
    found = []
    monkeypatch.setattr(loading, "check_warm_up", lambda *_: found.append(priority()))
    return found


def test_only_a_version_that_is_loaded_beside_streams_has_a_low_priority_and_rests(tmp_path, monkeypatch, priorities):
    version = export_babble(tmp_path).path
    slept_s, own = [], priority()
    monkeypatch.setattr(loading.time, "sleep", slept_s.append)
    loading.load_served(version, streams=False)
    assert not slept_s
    loading.load_served(version, streams=True)
    assert len(slept_s) > 1
    assert all(0 < seconds <= 0.1 for seconds in slept_s)
    assert priorities == [own, min(19, own + loading._NICENESS)]
    assert priority() == own


def test_a_recognizer_of_a_low_priority_loads_with_a_lower_one(tmp_path, priorities):
    version = export_babble(tmp_path).path

    def load():
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 15)
        loading.load_served(version, streams=True)

    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    assert priorities == [19]


def test_a_version_is_loaded_where_no_priority_may_change(tmp_path, monkeypatch, priorities):
    def forbidden(*_):
        raise PermissionError("not here")

    version = export_babble(tmp_path).path
    monkeypatch.setattr(loading.os, "setpriority", forbidden)
    assert loading.load_served(version, streams=True).version == 1
    assert priorities == [priority()]


def test_a_recognizer_has_none_of_tensorflow_s_python(tmp_path):
    version = export_babble(tmp_path).path
    program = f"""
import sys
from pathlib import Path
import services.recognizer.main, services.recognizer.server
from services.recognizer.loading import load_served
print(load_served(Path({str(version)!r}), streams=False).name, {{"tensorflow", "keras"}} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "babble set()"

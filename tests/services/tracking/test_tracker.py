import pytest
from rigs.log import WrittenLog
from rigs.tracked_run import TrackedRun, logged, tracked, tracked_recipe

from services.tracking import tracker as module
from services.tracking.tracker import Tracker
from services.tracking.transfer import Transfer


@pytest.fixture
def log(monkeypatch):
    log = WrittenLog()
    monkeypatch.setattr(module, "log", log)
    return log


@pytest.fixture
def run(tmp_path):
    run = TrackedRun(tmp_path / "mine")
    run.make(1, 2, 3)
    run.save(3)
    return run


def test_closing_sends_the_rest_with_the_last_status(run, tmp_path, log):
    tracker = Tracker(Transfer(run.folder, tracked_recipe(tmp_path / "mlflow")), "mlflow")
    tracker.start()
    tracker.close("KILLED")
    ((found, points),) = tracked(tmp_path / "mlflow")
    assert points == logged(run.folder)
    assert found.info.status == "KILLED"
    assert log.entries == []


def test_a_tracker_that_is_gone_is_logged_once_and_has_everything_when_it_is_back(run, tmp_path, log):
    (tmp_path / "mlflow").write_text("no folder")
    tracker = Tracker(Transfer(run.folder, tracked_recipe(tmp_path / "mlflow")), "mlflow")
    assert [tracker.attempt("RUNNING") for _ in range(3)] == [False] * 3
    run.make(4)
    run.save(4)
    (tmp_path / "mlflow").unlink()
    assert [tracker.attempt("RUNNING") for _ in range(2)] == [True] * 2
    assert [entry["event"] for entry in log.entries] == ["tracking_unavailable", "tracking_resumed"]
    ((_, points),) = tracked(tmp_path / "mlflow")
    assert points == logged(run.folder)


def test_a_server_that_refuses_connections_ends_nothing_and_its_password_is_not_logged(run, log, monkeypatch):
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    recipe = tracked_recipe("http://127.0.0.1:1")
    uri = "http://me:hunter2@127.0.0.1:1"
    settings = recipe.tracking.model_copy(update={"mlflow": uri})  # as the recipe itself does not allow
    tracker = Tracker(Transfer(run.folder, recipe.model_copy(update={"tracking": settings})), uri)
    tracker.start()
    tracker.close("FINISHED")
    assert [entry["event"] for entry in log.entries] == ["tracking_unavailable", "tracking_incomplete"]
    assert "127.0.0.1" in str(log.entries)
    assert "hunter2" not in str(log.entries)

import pytest
from rigs.tracked_run import TrackedRun, logged, tracked, tracked_recipe

from services.tracking.mlflow_run import MlflowRun, require_mlflow
from services.tracking.transfer import Transfer
from sonorant.errors import BadRecipe
from sonorant.tracking.journal import Point, parameters
from sonorant.tracking.section import TrackingRecipe


@pytest.fixture
def store(tmp_path):
    return tmp_path / "mlflow"


@pytest.fixture
def run(tmp_path):
    return TrackedRun(tmp_path / "runs" / "mine")


def test_mlflow_has_the_settings_figures_and_status_of_a_run(run, store):
    recipe = tracked_recipe(store)
    transfer = Transfer(run.folder, recipe)
    transfer.send("RUNNING")
    ((first, nothing),) = tracked(store)
    assert (first.info.run_name, first.info.status, nothing) == ("mine", "RUNNING", {})
    run.make(*range(1, 700))
    run.write("dev", 699, wer=0.5)
    run.save(699)
    transfer.send("FINISHED")
    ((found, points),) = tracked(store)
    assert points == logged(run.folder)
    assert found.data.params == parameters(recipe)
    assert found.info.status == "FINISHED"


def test_a_killed_and_resumed_training_goes_on_in_its_run_without_its_void_steps(run, store):
    recipe = tracked_recipe(store)
    run.make(1, 2, 3, 4, luck=0.5)
    run.save(3)
    Transfer(run.folder, recipe).send("RUNNING")
    run.resume(3)
    run.make(4, 5, 6)
    run.save(6)
    longer = tracked_recipe(store, training={"epochs": 99})
    Transfer(run.folder, longer).send("RUNNING")
    ((_, points),) = tracked(store)
    assert points == logged(run.folder)
    assert points["step/loss"] == [(1, 1.5), (2, 2.5), (3, 3.5), (4, 4.0), (5, 5.0), (6, 6.0)]


def test_after_a_fall_back_to_an_older_checkpoint_no_step_is_there_twice(run, store):
    run.make(1, 2, 3)
    run.save(3)
    Transfer(run.folder, tracked_recipe(store)).send("RUNNING")
    run.resume(2)
    run.make(3, 4, luck=0.25)
    run.save(4)
    Transfer(run.folder, tracked_recipe(store)).send("RUNNING")
    ((_, points),) = tracked(store)
    assert points["step/loss"] == [(1, 1.0), (2, 2.0), (3, 3.0), (4, 4.25)]


@pytest.mark.parametrize("written", [0, 3, 5])
def test_of_a_request_that_failed_halfway_nothing_is_missing_and_nothing_double(run, store, monkeypatch, written):
    from mlflow import MlflowClient

    transfer = Transfer(run.folder, tracked_recipe(store))
    transfer.send("RUNNING")
    run.make(1, 2, 3)
    run.save(3)
    whole = MlflowClient.log_batch

    def half(self, number, metrics=(), **rest):
        whole(self, number, metrics[:written], **rest)
        raise ConnectionError("connection reset by peer")

    monkeypatch.setattr(MlflowClient, "log_batch", half)
    with pytest.raises(ConnectionError):
        transfer.send("RUNNING")
    monkeypatch.setattr(MlflowClient, "log_batch", whole)
    transfer.send("RUNNING")
    ((_, points),) = tracked(store)
    assert points == logged(run.folder)


def test_a_run_that_begins_to_be_tracked_late_is_tracked_from_its_begin(run, store):
    run.make(1, 2, 3)
    run.save(3)
    Transfer(run.folder, tracked_recipe(store)).send("KILLED")
    Transfer(run.folder, tracked_recipe(store / "other")).send("FINISHED")
    ((_, points),) = tracked(store / "other")
    assert points == logged(run.folder)


def test_runs_of_one_recipe_are_two_in_mlflow(run, store, tmp_path):
    for name in ("a", "b"):
        other = TrackedRun(tmp_path / "runs" / name)
        Transfer(other.folder, tracked_recipe(store)).send("RUNNING")
    assert sorted(found.info.run_name for found, _ in tracked(store)) == ["a", "b"]


def test_figures_that_change_at_the_same_step_are_revised_once(store):
    settings = TrackingRecipe(mlflow=str(store), experiment="tests")
    for rate in (0.5, 0.5, 0.25, 0.25, 0.5):
        MlflowRun(settings, "mine", "key").revise([Point("test/heldout/wer", rate, 7, 7.0)])
    ((_, points),) = tracked(store, "tests")
    assert points["test/heldout/wer"] == [(7, 0.5), (7, 0.25), (7, 0.5)]


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    require_mlflow(TrackingRecipe())
    with pytest.raises(BadRecipe, match=r"tracking\.mlflow=runs/mlflow: .*pip install -e '\.\[tracking\]'"):
        require_mlflow(TrackingRecipe(mlflow="runs/mlflow"))

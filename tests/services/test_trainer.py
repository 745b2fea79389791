"""The trainer as a process, with the whole pipeline behind it."""

import contextlib
import json
import os
import shutil
import signal

import psutil
import pytest
from rigs.tracked_run import logged, tracked
from rigs.training_run import EPOCHS, MPIRUN, PATIENCE_S, TOTAL, Run, tiny_recipe, write_run
from rigs.waiting import eventually

from services.supervisor.past_run import audit_run
from sonorant.export.weights import exported_weights
from sonorant.tracking.section import TrackingRecipe


def steps_of(points, without="-"):
    """Return {metric: [step, …]}; the values of a step change if the test removes the checkpoint after it."""
    return {name: [step for step, _ in of] for name, of in points.items() if not name.startswith(without)}


@pytest.fixture
def run(tmp_path, redis_url):
    recipe = tiny_recipe().model_copy(update={"tracking": TrackingRecipe(mlflow=str(tmp_path / "mlflow"))})
    with contextlib.ExitStack() as stack:
        yield Run(write_run(tmp_path / "run", recipe), redis_url, stack)


def test_killed_resumed_by_two_ranks_terminated_and_resumed_no_example_is_used_twice(run):
    if shutil.which("mpirun") is None:
        pytest.skip("needs mpirun")
    killed = run.train()
    eventually(lambda: run.last_step() >= 6, process=killed)
    run.kill(killed)
    before = run.back_into_an_epoch().step
    run.serve()

    terminated = run.train(*MPIRUN)
    eventually(lambda: run.last_step() >= before + 3, process=terminated)
    os.kill(terminated.pid, signal.SIGUSR1)
    assert terminated.wait(PATIENCE_S) == 75, run.log("trainer")
    run.back_into_an_epoch()
    run.kill(run.servers[0])

    finished = run.train(more=("--export",))
    assert finished.wait(PATIENCE_S) == 0, run.log("trainer")
    (export,) = run.folder.exports.glob("*/1")
    totals = json.loads((run.folder.path / "finished.json").read_text())
    assert totals["reason"] == "epochs"
    assert totals["examples"] == EPOCHS * TOTAL
    assert totals["parameters"] == sum(weight.size for weight in exported_weights(export).values())
    assert totals["audio_hours_per_second"] > 0
    assert totals["ledger"] == {"committed": EPOCHS * TOTAL, "rejected": 0, "lost": 0, "duplicated": 0}
    found = audit_run(run.folder)
    assert found.exact
    assert [(epoch.committed, epoch.trained) for epoch in found.epochs] == [(TOTAL, TOTAL)] * EPOCHS
    lines = [json.loads(line) for line in run.folder.metrics.read_text().splitlines()]
    assert sum(line["examples"] for line in lines if line["kind"] == "step") == EPOCHS * TOTAL
    assert [line["step"] for line in lines if line["kind"] == "step"] == list(range(1, totals["steps"] + 1))
    assert lines[-1]["kind"] == "end"
    assert list(run.folder.tensorboard.iterdir())
    ((seen, points),) = tracked(run.folder.path.parent / "mlflow")
    assert steps_of(points, without="end/") == steps_of(logged(run.folder))
    assert (seen.info.status, points["end/ledger/lost"]) == ("FINISHED", [(totals["steps"], 0)])


def test_a_rank_that_never_comes_to_a_step_ends_the_gang_which_may_start_again(tmp_path, redis_url):
    if shutil.which("mpirun") is None:
        pytest.skip("needs mpirun")
    with contextlib.ExitStack() as stack:
        run = Run(write_run(tmp_path / "run", tiny_recipe(epochs=10_000, patience=10_000)), redis_url, stack)
        hung = run.train(*MPIRUN, more=("--max-iteration-s", "30"))
        eventually(lambda: run.last_step() >= 6, process=hung)
        psutil.Process(hung.pid).children()[-1].suspend()
        assert hung.wait(PATIENCE_S) == 75, run.log("trainer")
        assert "main_loop_hangs" in run.log("trainer")

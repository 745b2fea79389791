"""Between the commit of the last batch and the end that the coordinator is told, nothing may be lost for good."""

import contextlib
import shutil
import sys

import pytest
from rigs.accident import AFTER_TOTALS, KILLED, accident
from rigs.training_run import MPIRUN, PATIENCE_S, TOTAL, Run, tiny_recipe, write_run

from services.supervisor.past_run import audit_run

EPOCHS = 2


@pytest.fixture
def run(tmp_path, redis_url):
    with contextlib.ExitStack() as stack:
        recipe = tiny_recipe(epochs=EPOCHS, patience=EPOCHS, checkpoint_every_steps=7)
        yield Run(write_run(tmp_path / "run", recipe), redis_url, stack)


def assert_exact(run):
    found = audit_run(run.folder)
    assert found.exact
    assert [(epoch.committed, epoch.trained) for epoch in found.epochs] == [(TOTAL, TOTAL)] * EPOCHS


def test_a_trainer_that_is_started_again_tells_the_end_that_nobody_was_told(run, tmp_path):
    unlucky = accident(tmp_path / "accident", AFTER_TOTALS, KILLED)
    assert run.train(environment=unlucky).wait(PATIENCE_S) != 0
    assert (run.folder.totals.exists(), run.status().finished) == (True, False)
    for _ in range(2):
        assert run.train(environment=unlucky).wait(PATIENCE_S) == 0, run.log("trainer")
        assert run.status().finished
    assert run.log("trainer").count("end_reported") == 1
    assert_exact(run)


def test_ranks_that_look_for_the_totals_before_and_after_they_are_written_end_together(run, tmp_path, redis_url):
    assert run.train().wait(PATIENCE_S) == 0, run.log("trainer")
    early = shutil.copytree(run.folder.path, tmp_path / "early")
    (early / "finished.json").unlink()
    servers = ("--coordinator", (run.folder.path / "port").read_text().strip(), "--redis", redis_url)
    *mpirun, _ = MPIRUN
    rank_0 = (sys.executable, "-m", "services.trainer", "--run", str(run.folder.path), *servers)
    gang = run.train(*mpirun, "1", *rank_0, ":", "-np", "1", more=("--run", str(early)))
    assert gang.wait(PATIENCE_S) == 0, run.log("trainer")
    assert_exact(run)

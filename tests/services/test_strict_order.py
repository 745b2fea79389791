"""`pipeline.order: strict`: the weights that a training ends with follow from the recipe, and from nothing else."""

import contextlib
import os
import signal

import numpy as np
import pytest
import redis
from rigs.training_run import MPIRUN, PATIENCE_S, TOTAL, Run, tiny_recipe, write_run
from rigs.waiting import eventually

from services.storage.run import SharedRun
from services.supervisor.past_run import audit_run
from services.trainer.rank import Rank
from sonorant.errors import BadRecipe
from sonorant.training.checkpoints import load_checkpoint
from sonorant.training.collective import SingleProcess

EPOCHS = 4


def strict_recipe(ranks):
    pipeline = {"order": "strict", "heartbeat_s": 0.2, "dead_after_s": 1.0}
    return tiny_recipe(pipeline, stages=[{"stage": "spec_augment"}], epochs=EPOCHS, ranks=ranks)


class TwoRanks(SingleProcess):
    size = 2


def launcher(ranks):
    return MPIRUN if ranks > 1 else ()


def outcome(run):
    """Return the weights at the end; each example must have been used once an epoch."""
    found = audit_run(run.folder)
    assert found.exact
    assert [epoch.trained for epoch in found.epochs] == [TOTAL] * EPOCHS
    weights = load_checkpoint(run.folder.checkpoints, "latest").weights
    return np.concatenate([weights[name].ravel() for name in sorted(weights)])


def train_in_peace(folder, redis_url, ranks):
    with contextlib.ExitStack() as stack:
        run = Run(write_run(folder, strict_recipe(ranks)), redis_url, stack)
        assert run.train(*launcher(ranks)).wait(PATIENCE_S) == 0, run.log("trainer")
        return outcome(run)


def train_under_fire(folder, redis_url, ranks):
    """Three replicas, of which one is killed and one stands still for a while; the trainer is killed, and resumed."""
    with contextlib.ExitStack() as stack:
        run = Run(write_run(folder, strict_recipe(ranks)), redis_url, stack, replicas=3)
        trainer = run.train(*launcher(ranks))
        eventually(lambda: run.last_step() >= 3, process=trainer)
        run.kill(run.servers[0])
        eventually(lambda: run.last_step() >= 12 // ranks, process=trainer)
        run.kill(trainer)
        before = run.back_into_an_epoch()
        os.kill(run.servers[1].pid, signal.SIGSTOP)
        trainer = run.train(*launcher(ranks))
        eventually(lambda: run.last_step() > before.step, process=trainer)
        os.kill(run.servers[1].pid, signal.SIGCONT)
        assert trainer.wait(PATIENCE_S) == 0, run.log("trainer")
        return outcome(run)


@pytest.mark.parametrize("ranks", [1, 2])
def test_weights_are_equal_bit_for_bit_whatever_was_killed_and_however_many_replicas(tmp_path, redis_url, ranks):
    undisturbed = train_in_peace(tmp_path / "peace", redis_url, ranks)
    with redis.Redis.from_url(redis_url) as client:
        client.flushall()
    np.testing.assert_array_equal(train_under_fire(tmp_path / "fire", redis_url, ranks), undisturbed)


def test_another_number_of_ranks_is_refused_before_they_start(tmp_path, redis_url):
    folder = write_run(tmp_path / "run", recipe := strict_recipe(3))
    with pytest.raises(BadRecipe, match=r"recipe.yaml: pipeline.order: strict with 2 ranks: there must be 3"):
        Rank(recipe, SharedRun(folder), "nowhere:1", redis_url, "trainer-0", TwoRanks(), None)

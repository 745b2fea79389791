"""`pipeline.order: strict`: the weights that a training ends with follow from the recipe, and from nothing else."""

import contextlib
import os
import signal

import numpy as np
import pytest
import redis
from training_run import PATIENCE_S, TOTAL, Run, tiny_recipe, wait_for, write_run

from services.local.past_run import audit_run
from services.storage.run import SharedRun
from services.trainer.rank import Rank
from sonorant.errors import BadRecipe
from sonorant.training.checkpoints import load_checkpoint
from sonorant.training.collective import SingleProcess

EPOCHS = 4
RECIPE = tiny_recipe({"order": "strict", "dead_after_s": 1.0}, stages=[{"stage": "spec_augment"}], epochs=EPOCHS)


class TwoRanks(SingleProcess):
    size = 2


def outcome(run):
    """Return the weights at the end; each example must have been used once an epoch."""
    found = audit_run(run.folder)
    assert found.exact
    assert [epoch.trained for epoch in found.epochs] == [TOTAL] * EPOCHS
    weights = load_checkpoint(run.folder.checkpoints, "latest").weights
    return np.concatenate([weights[name].ravel() for name in sorted(weights)])


def train_in_peace(folder, redis_url):
    with contextlib.ExitStack() as stack:
        run = Run(write_run(folder, RECIPE), redis_url, stack)
        assert run.train().wait(PATIENCE_S) == 0, run.log("trainer")
        return outcome(run)


def train_under_fire(folder, redis_url):
    """Three replicas, of which one is killed and one stands still for a while; the trainer is killed, and resumed."""
    with contextlib.ExitStack() as stack:
        run = Run(write_run(folder, RECIPE), redis_url, stack, replicas=3)
        trainer = run.train()
        wait_for(lambda: run.last_step() >= 3, trainer)
        run.kill(run.servers[0])
        wait_for(lambda: run.last_step() >= 12, trainer)
        run.kill(trainer)
        before = run.back_into_an_epoch()
        os.kill(run.servers[1].pid, signal.SIGSTOP)
        trainer = run.train()
        wait_for(lambda: run.last_step() >= before.step + 3, trainer)
        os.kill(run.servers[1].pid, signal.SIGCONT)
        assert trainer.wait(PATIENCE_S) == 0, run.log("trainer")
        return outcome(run)


def test_weights_are_equal_bit_for_bit_whatever_was_killed_and_however_many_replicas_there_were(tmp_path, redis_url):
    undisturbed = train_in_peace(tmp_path / "peace", redis_url)
    with redis.Redis.from_url(redis_url) as client:
        client.flushall()
    np.testing.assert_array_equal(train_under_fire(tmp_path / "fire", redis_url), undisturbed)


def test_several_ranks_are_refused_before_they_start(tmp_path, redis_url):
    folder = write_run(tmp_path / "run", RECIPE)
    with pytest.raises(BadRecipe, match=r"recipe.yaml: pipeline.order: strict with 2 ranks: there must be 1"):
        Rank(RECIPE, SharedRun(folder), "nowhere:1", redis_url, "trainer-0", TwoRanks(), None)

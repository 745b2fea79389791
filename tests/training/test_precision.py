"""Mixed precision in the training loop."""

import numpy as np
import pytest
from training.harness import lines, run, tiny_trainer, weights
from training.tiny import tiny_recipe

from sonorant.delivery.ledger import MemoryLedger
from sonorant.training import loss_scale
from sonorant.training.loop import Reason
from sonorant.training.loss_scale import LossScale

TOTAL = 22


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_a_tiny_task_is_learnt_from_a_loss_that_is_nearly_the_same(precision, tmp_path):
    found = {}
    for name in ("float32", precision):
        recipe = tiny_recipe(epochs=8, patience=8, batch_examples=8, learning_rate=0.03, precision=name)
        trainer = tiny_trainer(recipe, tmp_path / name, MemoryLedger(64), 64)
        run(trainer)
        found[name] = [row["loss"] for row in lines(tmp_path / name, "step")], trainer.progress.best_dev
    (exact, _), (losses, best) = found["float32"], found[precision]
    assert losses[0] == pytest.approx(exact[0], rel=0.01)
    assert losses != exact
    assert best < 0.1


def test_a_resumed_run_ends_with_the_same_weights_and_scale_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setattr(loss_scale, "_STEPS", 2)
    recipe = tiny_recipe(epochs=2, precision="float16", accumulate_batches=2)
    whole = tiny_trainer(recipe, tmp_path / "whole", MemoryLedger(TOTAL), TOTAL)
    run(whole)
    ledger = MemoryLedger(TOTAL)
    assert run(tiny_trainer(recipe, tmp_path / "cut", ledger, TOTAL, terminate_after=3)) is Reason.TERMINATED
    resumed = tiny_trainer(recipe, tmp_path / "cut", ledger, TOTAL)
    run(resumed)
    np.testing.assert_array_equal(weights(resumed), weights(whole))
    assert resumed.parts.step.loss_scale.state() == whole.parts.step.loss_scale.state()
    assert whole.parts.step.loss_scale.state() != LossScale("float16").state()


def test_an_overflow_is_skipped_and_counted_and_ends_no_run(tmp_path):
    recipe = tiny_recipe(epochs=2, batch_examples=2, precision="float16", max_bad_steps=1)
    trainer = tiny_trainer(recipe, tmp_path, MemoryLedger(TOTAL), TOTAL)
    trainer.parts.step.loss_scale.scale.assign(2.0**24)
    before = weights(trainer)
    assert run(trainer) is Reason.EPOCHS
    progress = trainer.progress
    assert 1 < progress.overflowed_steps == progress.skipped_steps < progress.step
    assert progress.bad_steps == 0
    assert trainer.parts.step.loss_scale.state()["scale"] == 2.0 ** (24 - progress.overflowed_steps)
    assert np.isfinite(weights(trainer)).all()
    assert np.abs(weights(trainer) - before).max() > 0


def test_a_run_goes_on_in_any_other_precision(tmp_path):
    ledger = MemoryLedger(TOTAL)
    steps = [0]
    for epochs, name in enumerate(("float32", "bfloat16", "float16", "float32"), start=1):
        trainer = tiny_trainer(tiny_recipe(epochs=epochs, precision=name), tmp_path, ledger, TOTAL)
        assert trainer.progress.step == steps[-1]
        assert run(trainer) is Reason.EPOCHS
        steps.append(trainer.progress.step)
    assert weights(trainer).dtype == np.float32
    assert steps == sorted(set(steps))

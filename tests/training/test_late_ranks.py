"""A rank without a batch: in strict order the gang waits for it, and each batch is trained on once."""

import dataclasses

import numpy as np
import pytest
from training.harness import run, tiny_trainer, weights
from training.tiny import tiny_recipe

from sonorant.delivery.ledger import MemoryLedger
from sonorant.training.loop import Reason
from sonorant.training.step import StepResult


class _LateAt:
    """Steps of a gang whose other rank is late in some iterations, in which nothing is trained on."""

    def __init__(self, step, late):
        self._step, self._late, self.asked = step, late, []

    def __getattr__(self, name):
        return getattr(self._step, name)

    def __call__(self, batch, step, notes):
        self.asked.append(notes)
        if len(self.asked) in self._late:
            return StepResult({"loss": 0.0}, 0.0, 0, False, notes._replace(late=1.0))
        return self._step(batch, step, notes)


def in_order(recipe, order):
    return recipe.model_copy(update={"pipeline": recipe.pipeline.model_copy(update={"order": order})})


def test_a_batch_waits_for_a_rank_that_is_late_and_is_trained_on_once(tmp_path):
    recipe = in_order(tiny_recipe(epochs=2), "strict")
    undisturbed, held = (
        tiny_trainer(recipe, tmp_path / name, MemoryLedger(22), total=22) for name in ("undisturbed", "held")
    )
    run(undisturbed)
    widen, widened = held.parts.held_up, []
    held.parts = dataclasses.replace(
        held.parts, step=_LateAt(held.parts.step, {1, 4, 5}), held_up=lambda: (widened.append(True), widen())
    )
    commit, committed = held.parts.feeder.commit, []
    held.parts.feeder.commit = lambda batch: (committed.append(batch), commit(batch))
    assert run(held) is Reason.EPOCHS
    assert len(held.parts.step.asked) > undisturbed.progress.step + 3
    np.testing.assert_array_equal(weights(held), weights(undisturbed))
    assert held.progress.step == undisturbed.progress.step
    assert len(widened) == 3
    assert held.progress.examples == sum(len(batch.ordinals) for batch in committed) == 44
    assert held.progress.audio_s == pytest.approx(undisturbed.progress.audio_s)
    assert [held.ports.ledger.progress(e).committed for e in range(2)] == [22, 22]


def test_a_batch_that_is_held_when_a_signal_comes_is_left_to_the_next_gang(tmp_path):
    recipe = in_order(tiny_recipe(epochs=1), "strict")
    whole = tiny_trainer(recipe, tmp_path / "whole", MemoryLedger(22), total=22)
    run(whole)
    ledger = MemoryLedger(22)
    first = tiny_trainer(recipe, tmp_path / "cut", ledger, total=22, terminate_after=4)
    first.parts = dataclasses.replace(first.parts, step=_LateAt(first.parts.step, range(3, 9)))
    assert run(first) is Reason.TERMINATED
    assert first.parts.step.asked[-1].vectors  # it has a batch
    assert ledger.progress(0).committed == first.progress.examples == 8
    second = tiny_trainer(recipe, tmp_path / "cut", ledger, total=22)
    assert run(second) is Reason.EPOCHS
    np.testing.assert_array_equal(weights(second), weights(whole))
    assert ledger.progress(0).committed == 22


@pytest.mark.parametrize("order", ["fast", "strict"])
def test_only_in_strict_order_does_a_rank_without_a_batch_hold_the_others_up(ledger, tmp_path, order):
    trainer = tiny_trainer(in_order(tiny_recipe(epochs=1), order), tmp_path, ledger, total=22)
    steps = _LateAt(trainer.parts.step, ())
    trainer.parts = dataclasses.replace(trainer.parts, step=steps)
    get, trainer.parts.feeder.get = trainer.parts.feeder.get, lambda patience_s: None
    trainer.iterate()
    trainer.parts.feeder.get = get
    run(trainer)
    assert [notes.late for notes in steps.asked[:2]] == [order == "strict", 0]
    at_the_end = [notes.late for notes in steps.asked if notes.drained]
    assert at_the_end
    assert not any(at_the_end)

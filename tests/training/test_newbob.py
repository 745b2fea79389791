"""Newbob in the loop: the rate follows dev, and a resumed run goes on with the same bits."""

import numpy as np
import pytest
from training.harness import lines, run, tiny_trainer, weights
from training.tiny import tiny_recipe

from sonorant.delivery.ledger import MemoryLedger
from sonorant.recipe.schema import Recipe
from sonorant.training.loop import Reason

WERS = [0.5, 0.4, 0.4, 0.399, 0.1]
RECIPE = tiny_recipe(epochs=5, patience=9, schedule="newbob", warmup_steps=0, final_learning_rate=1e-5)


def newbob(folder, ledger, wers, recipe=RECIPE, **given):
    trainer = tiny_trainer(recipe, folder, ledger, total=22, **given)
    trainer.parts.evaluator.measure = lambda recognised: wers.pop(0)
    return trainer


def test_the_rate_is_halved_after_each_evaluation_that_gained_too_little(tmp_path):
    trainer = newbob(tmp_path, MemoryLedger(22), WERS[:])
    assert run(trainer) is Reason.EPOCHS
    rates = {row["epoch"]: row["learning_rate"] for row in lines(tmp_path, "step")}
    np.testing.assert_allclose([rates[epoch] for epoch in range(5)], [0.01, 0.01, 0.01, 0.005, 0.0025])
    assert trainer.progress.decays == 2


def test_a_resumed_run_has_decayed_as_often_and_ends_with_the_same_bits(tmp_path):
    whole = newbob(tmp_path / "whole", MemoryLedger(22), WERS[:])
    run(whole)
    ledger, wers = MemoryLedger(22), WERS[:]
    assert run(newbob(tmp_path / "cut", ledger, wers, terminate_after=24)) is Reason.TERMINATED
    second = newbob(tmp_path / "cut", ledger, wers)
    assert second.progress.decays == second.parts.step.decays == 1
    run(second)
    np.testing.assert_array_equal(weights(second), weights(whole))


def test_an_evaluation_is_not_compared_with_one_of_fewer_layers(tmp_path):
    values = RECIPE.model_dump(mode="json")
    values["model"] = {"family": "lstm_ctc", "layers": 4, "cells": 5}
    values["training"]["pretrain_layers"] = [2, 3]
    trainer = newbob(tmp_path, MemoryLedger(22), [0.5, 0.6, 0.7, 0.4, 0.4], Recipe.model_validate(values))
    run(trainer)
    assert trainer.progress.decays == 1  # after the last evaluation


@pytest.mark.parametrize(
    ("stopped", "on"),
    [
        ({"epochs": 3, "max_minutes": 10 / 60}, {"epochs": 3}),
        ({"epochs": 3, "dev_every_epochs": 2}, {"epochs": 6, "dev_every_epochs": 2}),
    ],
)
def test_an_evaluation_that_only_an_end_asked_for_decides_nothing_later(tmp_path, stopped, on):
    """WER falls by more than newbob's threshold from epoch to epoch, and by less in parts of one."""
    given = {"schedule": "newbob", "warmup_steps": 0, "patience": 9}

    def trainer(folder, ledger, training):
        made = tiny_trainer(tiny_recipe(**given, **training), folder, ledger, total=22)
        made.parts.evaluator.measure = lambda recognised: 0.5 * 0.9975**made.progress.step
        return made

    whole, ledger = trainer(tmp_path / "whole", MemoryLedger(22), on), MemoryLedger(22)
    run(whole)
    first = trainer(tmp_path / "cut", ledger, stopped)
    assert run(first) in (Reason.TIME, Reason.EPOCHS)
    assert first.progress.regular_dev != first.progress.dev
    second = trainer(tmp_path / "cut", ledger, on)
    run(second)
    assert (second.progress.decays, whole.progress.decays) == (0, 0)
    np.testing.assert_array_equal(weights(second), weights(whole))


def test_patience_does_not_count_an_evaluation_that_only_an_end_asked_for(tmp_path):
    figures, ledger = [0.5, 0.51, 0.4, 0.3], MemoryLedger(22)
    for minutes in (9 / 60, 0):
        trainer = tiny_trainer(tiny_recipe(epochs=4, patience=2, max_minutes=minutes), tmp_path, ledger, total=22)
        progress = trainer.progress
        trainer.parts.evaluator.measure = lambda recognised, now=progress: figures[max(0, now.epoch - 1)]
        reason = run(trainer)
    assert (reason, progress.epoch) == (Reason.EPOCHS, 4)

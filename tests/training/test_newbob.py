"""Newbob in the loop: the rate follows dev, and a resumed run goes on with the same bits."""

import numpy as np
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

"""What follows a checkpoint: the same weights, steps repeated, and ranks of an older gang refused."""

import dataclasses

import numpy as np
import pytest
from training.harness import lines, run, tiny_trainer, weights
from training.tiny import tiny_recipe

from sonorant.delivery.ledger import MemoryLedger, StaleGeneration
from sonorant.errors import BadRecipe
from sonorant.recipe.schema import Recipe
from sonorant.training.collective import SingleProcess
from sonorant.training.identity import identity
from sonorant.training.loop import Reason

FAMILIES = {
    "lstm_ctc": ({}, {}),
    "deep_speech": ({"cells": 12, "context_vectors": 2, "stride": 1, "dropout": 0.1}, {"optimizer": "nesterov"}),
    "conv_lstm_ctc": (
        {"width_vectors": 2, "stride": 1, "filters": 6, "layers": 2, "cells": 8, "dropout": 0.3},
        {"anneal_dropout": [0.1], "anneal_patience": 1},
    ),
    "delayed_lstm": ({"layers": 2, "cells": 8, "delay_vectors": 2, "dropout": 0.1}, {}),
}


def recipe_of(family, **training):
    """A recipe of three epochs with a model of the family, and what trains that one; an average of weights too."""
    model, own = FAMILIES[family]
    values = tiny_recipe(epochs=3, patience=10, weight_average=0.9).model_dump(mode="json")
    values["training"] |= own | training
    return Recipe.model_validate(values | ({"model": {"family": family, **model}} if model else {}))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_resumed_run_ends_with_the_same_weights_bit_for_bit(family, tmp_path):
    check_resuming(recipe_of(family), tmp_path)


def test_a_run_by_minimum_word_error_does_so_too(tmp_path):
    run(tiny_trainer(tiny_recipe(epochs=1), tmp_path / "base", MemoryLedger(22), total=22))
    init_from = str(tmp_path / "base" / "checkpoints" / "step-00000006")
    check_resuming(recipe_of("lstm_ctc", mwer_hypotheses=3, init_from=init_from), tmp_path)


def check_resuming(recipe, folder):
    whole = tiny_trainer(recipe, folder / "whole", MemoryLedger(22), total=22)
    run(whole)
    ledger = MemoryLedger(22)
    first = tiny_trainer(recipe, folder / "cut", ledger, total=22, terminate_after=3)
    assert run(first) is Reason.TERMINATED
    assert 0 < ledger.progress(0).committed <= 12  # so that what is drawn next depends on the number of batches
    second = tiny_trainer(recipe, folder / "cut", ledger, total=22, terminate_after=9)
    assert run(second) is Reason.TERMINATED
    third = tiny_trainer(recipe, folder / "cut", ledger, total=22)
    assert run(third) is Reason.EPOCHS
    kept = third.parts.step.model.named_weights()
    for name, weight in whole.parts.step.model.named_weights().items():
        np.testing.assert_array_equal(kept[name], weight, err_msg=name)
    np.testing.assert_array_equal(weights(third), weights(whole))
    assert third.progress.examples == whole.progress.examples == 66
    assert [row["step"] for row in lines(folder / "cut", "step")] == list(range(1, whole.progress.step + 1))
    assert [ledger.progress(e).committed for e in range(3)] == [22, 22, 22]


def test_minimum_word_error_training_begins_with_no_random_weights(ledger, tmp_path):
    with pytest.raises(BadRecipe, match=r"mwer_hypotheses=3: mWER goes on from a converged model.*init_from"):
        tiny_trainer(tiny_recipe(epochs=2, mwer_hypotheses=3), tmp_path, ledger, total=22)


def test_minimum_word_error_training_goes_on_with_a_trained_run(tmp_path):
    ledger = MemoryLedger(22)
    run(tiny_trainer(tiny_recipe(epochs=1), tmp_path, ledger, total=22))
    trainer = tiny_trainer(tiny_recipe(epochs=2, mwer_hypotheses=3), tmp_path, ledger, total=22)
    began = trainer.progress.step
    assert run(trainer) is Reason.EPOCHS
    assert trainer.progress.step > began > 0
    assert ["word_errors" in row for row in lines(tmp_path, "step")] == [
        step > began for step in range(1, trainer.progress.step + 1)
    ]


def test_steps_after_the_last_checkpoint_are_forgotten_and_done_again(tmp_path):
    ledger, recipe = MemoryLedger(22), tiny_recipe(epochs=1, checkpoint_every_steps=2)
    crashing = tiny_trainer(recipe, tmp_path, ledger, total=22)
    crashing.parts.feeder.start()
    for _ in range(3):  # the checkpoint is of step 2
        crashing.iterate()
    crashing.parts.feeder.flush()  # as the claim of a later batch would
    crashing.parts.feeder.close()
    crashing.ports.reporter.close()
    assert ledger.progress(0).committed == 12
    again = tiny_trainer(recipe, tmp_path, ledger, total=22)
    assert again.progress.step == 2
    assert ledger.progress(0).committed == 8
    run(again)
    assert again.progress.examples == 22
    assert ledger.progress(0).committed == 22


class _Overslept(SingleProcess):
    """A rank that is stopped when it has committed its step, and wakes when another gang has taken over."""

    def __init__(self, ledger):
        self._ledger = ledger

    def gather(self, value):
        self._ledger.restore(self._ledger.generation() + 1, None)
        return super().gather(value)


def test_a_gang_that_wakes_after_its_end_writes_no_checkpoint(ledger, tmp_path):
    recipe = tiny_recipe(epochs=1)
    trainer = tiny_trainer(recipe, tmp_path, ledger, total=22)
    trainer.parts.feeder.start()
    trainer.iterate()
    trainer.ports = dataclasses.replace(trainer.ports, collective=_Overslept(ledger))
    with pytest.raises(StaleGeneration):
        trainer.save(best=False)
    trainer.parts.feeder.close()
    trainer.ports.reporter.close()
    assert trainer.ports.checkpoints.latest(identity(recipe)) is None


@pytest.mark.parametrize("resumed", [False, True])
def test_a_gang_that_waits_hears_that_another_has_taken_over(ledger, tmp_path, resumed):
    recipe = tiny_recipe(epochs=1)
    if resumed:
        run(tiny_trainer(recipe, tmp_path, ledger, total=22, terminate_after=3))
    trainer = tiny_trainer(recipe, tmp_path, ledger, total=22, terminate_after=3)  # if it hears nothing
    ledger.restore(ledger.generation() + 1, None)
    with pytest.raises(StaleGeneration):  # its feeder was never started: nothing comes, nothing is claimed
        trainer.run()
    trainer.ports.reporter.close()

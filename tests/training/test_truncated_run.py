"""Whole runs with truncated unrolling, and the recipes that cannot have it."""

import numpy as np
import pytest
from training import by_frame
from training.by_frame import CTC, FAMILIES, LOSSES, frame_recipe
from training.harness import lines, run, tiny_trainer, weights
from training.tiny import tiny_recipe

from sonorant.delivery.ledger import MemoryLedger
from sonorant.objectives import registry
from sonorant.training.loop import Reason

VECTORS = 4


@pytest.fixture(scope="module")
def aligned():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "open_aligner", lambda recipe, units: by_frame.align_all)
        yield


@pytest.fixture(scope="module", params=LOSSES)
def recipe(request):
    model = FAMILIES["delayed_lstm"] | {"dropout": 0.1, "delay_vectors": 2, "layers": 1, "cells": 16}
    options = {"batch_examples": 6, "unroll_vectors": VECTORS, "unroll_rows": 2, "weight_average": 0.9}
    options |= {"learning_rate": 0.03, "keep_checkpoints": 99} | LOSSES[request.param]
    return frame_recipe(model, epochs=3, checkpoint_every_steps=5, **options)


@pytest.fixture(scope="module")
def whole(aligned, recipe, tmp_path_factory):
    """A run that was not stopped, and its folder."""
    folder, calls = tmp_path_factory.mktemp("whole"), []
    trainer = tiny_trainer(recipe, folder, MemoryLedger(22), total=22, on_iteration=lambda: calls.append(1))
    assert run(trainer) is Reason.EPOCHS
    return trainer, folder, calls


def test_a_run_learns_and_says_how_much_was_padding(whole):
    trainer, folder, _ = whole
    rows = lines(folder, "step")
    first, last = (sum(row["loss"] * row["examples"] for row in rows if row["epoch"] == epoch) for epoch in (0, 2))
    assert last < 0.7 * first
    assert trainer.progress.best_dev < 0.5
    assert sum(row["examples"] for row in rows) == trainer.progress.examples == 66
    assert rows[-1]["step"] == trainer.progress.step == int(trainer.parts.step.optimizer.t) > len(rows)
    assert all(0 <= row["padding_ratio"] < 1 for row in rows)
    assert any(row["padding_ratio"] for row in rows)


def test_a_watchdog_sees_each_chunk_and_checkpoints_follow_batches(whole):
    trainer, folder, calls = whole
    assert len(calls) > trainer.progress.step  # each batch is an iteration too
    saved = {int(path.name.split("-")[1]) for path in (folder / "checkpoints").glob("step-*")}
    assert saved == {row["step"] for row in lines(folder, "step")}  # each makes more steps than lie between two


def test_a_resumed_run_ends_with_the_same_weights_bit_for_bit(whole, recipe, tmp_path):
    ledger = MemoryLedger(22)
    first = tiny_trainer(recipe, tmp_path, ledger, total=22, terminate_after=2)
    assert run(first) is Reason.TERMINATED
    assert 0 < ledger.progress(0).committed < 22
    second = tiny_trainer(recipe, tmp_path, ledger, total=22)
    assert run(second) is Reason.EPOCHS
    np.testing.assert_array_equal(weights(second), weights(whole[0]))
    assert second.progress.examples == 66
    assert second.progress.step == whole[0].progress.step
    assert [ledger.progress(e).committed for e in range(3)] == [22] * 3


@pytest.mark.parametrize(
    ("training", "model", "named"),
    [
        (CTC | {"mwer_hypotheses": 4}, {}, "training.mwer_hypotheses=4 compares several"),
        ({"accumulate_batches": 2}, {}, "training.accumulate_batches=2 a step of several"),
        ({"batch_examples": 3}, {}, "unroll_rows=4 with training.batch_examples=3"),
        ({}, {"dropout_over": "utterance"}, "found model.dropout_over=utterance"),
        ({}, {"family": "deep_speech"}, "lstm_ctc or delayed_lstm; found model.family=deep_speech"),
    ],
)
def test_what_is_not_defined_is_refused_by_name(training, model, named):
    options = {"unroll_vectors": VECTORS, "unroll_rows": 4, "batch_examples": 8} | training
    family = model if "family" in model else by_frame.PLAIN | model
    with pytest.raises(ValueError, match=named):
        frame_recipe(family, **options)
    assert tiny_recipe().training.unroll_vectors == 0

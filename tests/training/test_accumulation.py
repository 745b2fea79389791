"""Gradient accumulation: k batches make the step of one batch of k times the size, and nothing is lost at a stop."""

import numpy as np
import pytest
from training.harness import lines, run, tiny_trainer, weights
from training.tiny import BINS, shard_counts, tiny_example, tiny_recipe, tiny_units

from sonorant.delivery.ledger import MemoryLedger
from sonorant.models.registry import build_model
from sonorant.objectives.registry import build_objective
from sonorant.recipe import Recipe
from sonorant.training.batch import collate
from sonorant.training.checkpoints import BadCheckpoint, load_checkpoint
from sonorant.training.collective import SingleProcess
from sonorant.training.labeller import Labeller
from sonorant.training.loop import Reason
from sonorant.training.step import Notes, TrainStep


def steps(batches, **training):
    """Return the results of one call a batch, given as ranges of examples; and the step."""
    recipe = tiny_recipe(clip_norm=0.5, **training)
    recipe = recipe.model_copy(update={"model": recipe.model.model_copy(update={"dropout": 0.0})})
    objective = build_objective(recipe, tiny_units())
    step = TrainStep(build_model(recipe.model, BINS, tiny_units().size, seed=1), objective, recipe, SingleProcess())
    label, results = Labeller(objective, shard_counts(22)), []
    for ordinals in batches:
        tensors = collate(0, 0, [label(tiny_example(o)) for o in ordinals], objective.padding).tensors
        results.append(step(tensors, int(step.optimizer.t.numpy()), Notes(audio_s=float(len(ordinals)), drained=1.0)))
    return results, step


def test_batches_of_uneven_sizes_equal_one_of_them_all():
    parts = [range(0, 5), range(5, 6), range(6, 12), range(12, 15), range(15, 20), range(20, 22)]
    accumulated, many = steps(parts, accumulate_batches=3)
    at_once, one = steps([range(12), range(12, 22)])
    assert [r.pending for r in accumulated] == [True, True, False] * 2
    assert [r.applied for r in accumulated] == [False, False, True] * 2
    assert [r.examples for r in accumulated] == [5, 6, 12, 3, 8, 10]
    assert [r.examples - r.counted_examples for r in accumulated] == [5, 1, 6, 3, 5, 2]
    assert [r.notes.audio_s - r.counted_audio_s for r in accumulated] == [5, 1, 6, 3, 5, 2]
    assert {r.notes.drained for r in accumulated} == {1.0}
    for whole, last in zip(at_once, accumulated[2::3], strict=True):
        np.testing.assert_allclose([last.loss, last.gradient_norm], [whole.loss, whole.gradient_norm], rtol=1e-5)
    expected = one.model.named_weights()
    for name, array in many.model.named_weights().items():
        np.testing.assert_allclose(array, expected[name], atol=1e-6, err_msg=name)


def test_the_rest_of_an_epoch_makes_a_step_of_its_own():
    (first,), many = steps([range(5)], accumulate_batches=3)
    rest = many.flush(0)
    (at_once,), one = steps([range(5)])
    assert (first.pending, rest.pending, rest.applied) == (True, False, True)
    assert (rest.examples, rest.counted_examples, rest.counted_audio_s) == (5, 5, 5.0)
    assert rest.loss == pytest.approx(at_once.loss)
    expected = one.model.named_weights()
    for name, array in many.model.named_weights().items():
        np.testing.assert_allclose(array, expected[name], atol=1e-6, err_msg=name)
    assert many.flush(1) is None


def test_an_epoch_of_six_batches_has_two_steps_and_all_its_examples(tmp_path):
    ledger = MemoryLedger(22)
    trainer = tiny_trainer(tiny_recipe(epochs=2, accumulate_batches=4), tmp_path, ledger, total=22)
    assert run(trainer) is Reason.EPOCHS
    assert [row["examples"] for row in lines(tmp_path, "step")] == [16, 6] * 2
    assert trainer.progress.examples == 44
    assert [ledger.progress(e).committed for e in range(2)] == [22, 22]


ACCUMULATING = tiny_recipe(epochs=2, accumulate_batches=4, weight_average=0.9)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nobody stopped."""
    trainer = tiny_trainer(ACCUMULATING, tmp_path_factory.mktemp("whole"), MemoryLedger(22), total=22)
    run(trainer)
    return trainer


@pytest.mark.parametrize("iterations", [3, 4, 5, 9])
def test_a_run_that_is_stopped_between_the_batches_of_a_step_ends_with_the_same_bits(whole, tmp_path, iterations):
    ledger = MemoryLedger(22)
    first = tiny_trainer(ACCUMULATING, tmp_path / "cut", ledger, total=22, terminate_after=iterations)
    assert run(first) is Reason.TERMINATED
    stopped = load_checkpoint(tmp_path / "cut" / "checkpoints", "latest")
    assert (iterations == 4) == (not stopped.accumulated)  # after so many batches a step has just been done
    second = tiny_trainer(ACCUMULATING, tmp_path / "cut", ledger, total=22)
    assert run(second) is Reason.EPOCHS
    np.testing.assert_array_equal(weights(second), weights(whole))
    assert second.progress.examples == whole.progress.examples == 44
    assert second.progress.step == whole.progress.step == 4


@pytest.mark.parametrize(("first", "then"), [([2], []), ([], [2])])
def test_batches_that_wait_join_none_of_an_encoder_with_other_layers(tmp_path, first, then):
    ledger, values = MemoryLedger(22), ACCUMULATING.model_dump(mode="json")
    values["model"] = {"family": "lstm_ctc", "layers": 3, "cells": 5}
    for stages in (first, then):
        recipe = Recipe.model_validate(values | {"training": values["training"] | {"pretrain_layers": stages}})
        trainer = tiny_trainer(recipe, tmp_path, ledger, total=22, terminate_after=3 if stages is first else None)
        if stages is first:
            run(trainer)
    with pytest.raises(BadCheckpoint, match=r"batches wait for a step of [23] layers, found [23]"):
        run(trainer)


def test_annealing_leaves_out_batches_that_waited_with_another_objective(tmp_path):
    ledger, values = MemoryLedger(22), tiny_recipe(epochs=2, learning_rate=1e-12).model_dump(mode="json")
    values["model"] = {
        "family": "conv_lstm_ctc",
        "width_vectors": 1,
        "stride": 1,
        "filters": 4,
        "layers": 1,
        "cells": 4,
    }
    values["training"] |= {"accumulate_batches": 4, "anneal_dropout": [0.0], "anneal_patience": 1, "patience": 9}
    for changed in ({"max_minutes": 5 / 60}, {}, {"mwer_hypotheses": 2, "epochs": 4}):
        recipe = Recipe.model_validate(values | {"training": values["training"] | changed})
        trainer = tiny_trainer(recipe, tmp_path, ledger, total=22)
        trainer.parts.evaluator.measure = lambda recognised: 1.0
        run(trainer)
    assert trainer.progress.anneals == 1


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"mwer_hypotheses": 2}, "with the figures loss; expected loss, word_errors"),
        ({"accumulate_batches": 1, "unroll_vectors": 4, "unroll_rows": 2}, "expected none, as truncated unrolling"),
    ],
)
def test_batches_that_wait_join_none_of_another_objective(tmp_path, changed, expected):
    ledger = MemoryLedger(22)
    run(tiny_trainer(ACCUMULATING, tmp_path, ledger, total=22, terminate_after=3))
    other = tiny_recipe(**({"epochs": 2, "accumulate_batches": 4, "weight_average": 0.9} | changed))
    with pytest.raises(BadCheckpoint, match=expected):
        tiny_trainer(other, tmp_path, ledger, total=22)

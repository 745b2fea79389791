"""Layer-wise pretraining: which layers train, that the top one stays, and resuming at any point."""

import numpy as np
import pytest
from training.harness import lines, run, tiny_trainer, weights
from training.tiny import BINS, tiny_recipe, tiny_units

from sonorant.delivery.ledger import MemoryLedger
from sonorant.models.family import Inputs
from sonorant.models.registry import build_model
from sonorant.objectives.registry import build_objective
from sonorant.recipe import Recipe
from sonorant.tensorflow import tf
from sonorant.training.batch import empty_tensors
from sonorant.training.checkpoint_average import averaged_checkpoint
from sonorant.training.checkpoints import load_checkpoint
from sonorant.training.collective import SingleProcess
from sonorant.training.loop import Reason
from sonorant.training.pretraining import encoder_layers
from sonorant.training.step import Notes, TrainStep

LSTM = {"family": "lstm_ctc", "layers": 4, "cells": 5, "dropout": 0.1}
BFA = {"family": "bfa", "layers": 4, "cells": 4, "pooling": [2], "decoder_cells": 5, "embedding": 4, "attention": 4}
BFA |= {"readout": 4}
MOCHA = BFA | {"family": "mocha"}
CONVOLUTION = {"family": "conv_lstm_ctc", "layers": 4, "cells": 5, "filters": 3, "width_vectors": 2, "stride": 1}


def growing(model, **training):
    given = {"epochs": 4, "patience": 9, "pretrain_layers": [2, 3], "weight_average": 0.9} | training
    values = tiny_recipe().model_dump(mode="json")
    return Recipe.model_validate(values | {"model": model, "training": values["training"] | given})


def test_stages_take_their_epochs_and_then_all_layers_train():
    recipe = growing(LSTM, pretrain_epochs=2)
    assert [encoder_layers(recipe, epoch) for epoch in range(6)] == [2, 2, 3, 3, 4, 4]
    assert encoder_layers(tiny_recipe(), 0) is None


@pytest.mark.parametrize("model", [LSTM, BFA, MOCHA, CONVOLUTION])
def test_few_layers_are_the_lower_ones_and_the_top_one(model):
    """Against a model that has just these layers, and their weights."""
    deep = build_model(growing(model).model, BINS, tiny_units().size, seed=3)
    short = model | {"layers": 3}
    shallow = build_model(growing(short, pretrain_layers=[2]).model, BINS, tiny_units().size, seed=8)
    deep.set_layers(3)
    own = deep.named_weights()
    shallow.assign({name: own[name.replace("lstm_2", "lstm_3")] for name in shallow.named_weights()})
    features = np.random.default_rng(1).standard_normal((2, 12, BINS)).astype(np.float32)
    inputs = Inputs(tf.constant(features), tf.constant([12, 9]), tf.constant([[1, 2], [0, 0]]), tf.constant([2, 1]))
    for one, other in zip(deep.outputs(inputs), shallow.outputs(inputs), strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("model", [LSTM, CONVOLUTION])
def test_a_layer_changes_from_the_stage_on_that_inserts_it(tmp_path, model):
    trainer = tiny_trainer(growing(model), tmp_path, MemoryLedger(22), total=22)
    before = trainer.parts.step.model.named_weights()
    changed = []
    save = trainer.save

    def spy(*given, **named):
        now = trainer.parts.step.model.named_weights()
        names = sorted(
            {k.split("/")[0].split("_")[1] for k in now if k.startswith("lstm") and (now[k] != before[k]).any()}
        )
        changed.append("".join(names))
        save(*given, **named)

    trainer.save = spy
    assert run(trainer) is Reason.EPOCHS
    assert changed == ["03", "013", "0123", "0123"]
    assert load_checkpoint(tmp_path / "checkpoints", "best").progress.layers == 4  # whatever fewer layers came to


def test_dev_of_fewer_layers_is_no_best_for_more(tmp_path):
    trainer = tiny_trainer(growing(LSTM), tmp_path, MemoryLedger(22), total=22)
    wers = [0.1, 0.2, 0.9, 0.8]
    trainer.parts.evaluator.measure = lambda recognised: wers.pop(0)
    run(trainer)
    assert trainer.progress.best_dev == 0.8
    assert load_checkpoint(tmp_path / "checkpoints", "best").progress.dev == 0.8


def test_the_best_to_average_are_of_all_layers_whatever_fewer_came_to(tmp_path):
    recipe = growing(LSTM, keep_best_checkpoints=2, keep_checkpoints=1, epochs=5)
    trainer = tiny_trainer(recipe, tmp_path, MemoryLedger(22), total=22)
    wers = [0.1, 0.2, 0.7, 0.9, 0.8]
    trainer.parts.evaluator.measure = lambda recognised: wers.pop(0)
    run(trainer)
    kept = [
        load_checkpoint(tmp_path / "checkpoints", path.name[5:]) for path in (tmp_path / "checkpoints").glob("step-*")
    ]
    assert sorted(one.progress.dev for one in kept) == [0.7, 0.8]
    averaged_checkpoint(tmp_path / "checkpoints", "best", 2)


def test_patience_is_of_a_stage_also_where_a_run_resumes_between_two(tmp_path):
    wers = [0.1, 0.2, 0.9, 0.8, 0.7, 0.6]
    for epochs in (2, 6):  # the first ends between two stages
        recipe = growing(LSTM, epochs=epochs, patience=1, pretrain_epochs=2)
        trainer = tiny_trainer(recipe, tmp_path, MemoryLedger(22), total=22)
        trainer.parts.evaluator.measure = lambda recognised: wers.pop(0)
        run(trainer)
    assert wers == []
    assert trainer.progress.best_dev == 0.6


def test_patience_waits_for_all_layers(tmp_path):
    trainer = tiny_trainer(growing(LSTM, patience=1, epochs=9, pretrain_epochs=3), tmp_path, MemoryLedger(22), total=22)
    trainer.parts.evaluator.measure = lambda recognised: 0.5
    assert run(trainer) is Reason.PATIENCE
    assert (trainer.progress.layers, trainer.progress.epoch) == (4, 8)


def test_the_average_begins_anew_with_each_layer(tmp_path):
    trainer = tiny_trainer(growing(LSTM), tmp_path, MemoryLedger(22), total=22)
    run(trainer)
    steps = [row["step"] for row in lines(tmp_path, "step") if row["epoch"] < 2]
    assert trainer.parts.step.average.state()["begun"] == max(steps)


def test_a_resumption_without_stages_trains_all_layers_and_says_so(tmp_path):
    run(tiny_trainer(growing(LSTM, epochs=1), tmp_path, MemoryLedger(22), total=22))
    assert load_checkpoint(tmp_path / "checkpoints", "latest").progress.layers == 2
    trainer = tiny_trainer(growing(LSTM, epochs=2, pretrain_layers=[]), tmp_path, MemoryLedger(22), total=22)
    trainer.parts.evaluator.measure = lambda recognised: 9.0  # no better, but of another model
    run(trainer)
    best = load_checkpoint(tmp_path / "checkpoints", "best").progress
    assert (best.layers, best.dev) == (4, 9.0)


@pytest.fixture(scope="module", params=[LSTM, CONVOLUTION], ids=["lstm", "convolution"])
def whole(tmp_path_factory, request):
    """A run that nobody stopped, with its recipe and folder."""
    folder, recipe = tmp_path_factory.mktemp("whole"), growing(request.param)
    trainer = tiny_trainer(recipe, folder, MemoryLedger(22), total=22)
    run(trainer)
    return recipe, trainer, folder


@pytest.mark.parametrize("iterations", [4, 9, 17])
def test_a_run_that_is_stopped_in_any_stage_ends_with_the_same_bits(whole, tmp_path, iterations):
    (recipe, undisturbed, folder), ledger = whole, MemoryLedger(22)
    assert (
        run(tiny_trainer(recipe, tmp_path / "cut", ledger, total=22, terminate_after=iterations)) is Reason.TERMINATED
    )
    second = tiny_trainer(recipe, tmp_path / "cut", ledger, total=22)
    run(second)
    np.testing.assert_array_equal(weights(second), weights(undisturbed))
    assert [r["wer"] for r in lines(tmp_path / "cut", "dev")] == [r["wer"] for r in lines(folder, "dev")]


@pytest.mark.parametrize(
    ("model", "stages", "said"),
    [
        (LSTM, [3, 3], r"model\.layers=4: must rise from at least 2"),
        (LSTM, [2, 4], "stay below model.layers"),
        (BFA | {"pooling": [2, 2, 1]}, [2], "from at least 3"),
        (CONVOLUTION, [1], "greater than or equal to 2"),
        ({"family": "deep_speech", "cells": 3}, [2], r"deep_speech cannot grow"),
        ({"family": "mocha", "look_ahead": 2}, [2], r"mocha cannot grow"),
    ],
)
def test_stages_that_a_model_cannot_have_are_refused(model, stages, said):
    with pytest.raises(ValueError, match=said):
        growing(model, pretrain_layers=stages)


def test_a_weight_without_a_gradient_is_a_fault_of_the_model():
    recipe, units = tiny_recipe(), tiny_units()
    model = build_model(recipe.model, BINS, units.size)
    model.stray = model.add_weight(shape=(1,), name="stray")
    objective = build_objective(recipe, units)
    step = TrainStep(model, objective, recipe, SingleProcess())
    with pytest.raises(ValueError, match="None values not supported"):
        step(empty_tensors(BINS, objective.padding), 0, Notes())

"""A label-synchronous family in the training loop."""

import numpy as np
import pytest
from pydantic import ValidationError
from rigs import tiny_bfa, tiny_mocha
from training.harness import run, tiny_trainer, weights
from training.tiny import tiny_recipe

from sonorant.delivery.ledger import MemoryLedger
from sonorant.recipe.schema import Recipe
from sonorant.training.greedy import greedy
from sonorant.training.loop import Reason

TOTAL = 22


BFA, MOCHA = tiny_bfa.SECTION, tiny_mocha.SECTION


def label_recipe(section, order="fast", model=(), **training):
    values = tiny_recipe(**training).model_dump(mode="json")
    values["training"] |= {"ctc_weight": 0.3, "label_smoothing": 0.1, "sampling": 0.2, "sampling_steps": 20}
    values["training"]["quantity_weight"] = 0.2 * (section is MOCHA)
    values |= {"model": {**section, "ctc": True} | dict(model), "pipeline": {"order": order}}
    return Recipe.model_validate(values)


@pytest.mark.parametrize("section", [BFA, MOCHA], ids=["bfa", "mocha"])
def test_a_resumed_run_ends_with_the_same_weights_bit_for_bit(section, tmp_path):
    recipe = label_recipe(section, "strict", epochs=2, weight_average=0.9)
    whole = tiny_trainer(recipe, tmp_path / "whole", MemoryLedger(TOTAL), TOTAL)
    assert run(whole) is Reason.EPOCHS
    ledger = MemoryLedger(TOTAL)
    assert run(tiny_trainer(recipe, tmp_path / "cut", ledger, TOTAL, terminate_after=4)) is Reason.TERMINATED
    resumed = tiny_trainer(recipe, tmp_path / "cut", ledger, TOTAL)
    assert 0 < resumed.progress.step < whole.progress.step
    run(resumed)
    np.testing.assert_array_equal(weights(resumed), weights(whole))


def test_a_tiny_task_is_learnt(tmp_path):
    model = {"cells": 16, "decoder_cells": 16, "attention": 16, "pooling": [1]}
    recipe = label_recipe(
        BFA, model=model, epochs=60, patience=60, learning_rate=0.02, decay_steps=400, batch_examples=8
    )
    trainer = tiny_trainer(recipe, tmp_path, MemoryLedger(64), 64)
    run(trainer)
    assert trainer.progress.best_dev < 0.2
    model = trainer.parts.step.model
    assert greedy(model)(np.zeros((1, 1, model.bins), np.float32), np.ones(1, np.int32)) is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"family": "lstm_ctc"}, "training": {"ctc_weight": 0.3}}, r"training.ctc_weight=0.3: .*=lstm_ctc"),
        (
            {"training": {"head_weight": 1.0, "ctc_weight": 0.3}},
            r"training.head_weight=1.0: aligns heads of monotonic attention with joint CTC; found model.family=bfa, ",
        ),
        (
            {"model": {**MOCHA, "ctc": True}, "training": {"head_delay_frames": 4, "ctc_weight": 0.3}},
            r"training.head_delay_frames=4 with training.head_weight=0: nothing aligns heads",
        ),
        (
            {"model": {**MOCHA, "ctc": True}, "training": {"head_after_steps": 9, "ctc_weight": 0.3}},
            r"training.head_after_steps=9 with training.head_weight=0: nothing aligns heads",
        ),
        (
            {"training": {"quantity_weight": 1.0}},
            r"training.quantity_weight=1.0: model.family=bfa has no attention that",
        ),
        (
            {"decoding": {"ctc_weight": 0.3}},
            r"decoding.ctc_weight=0.3: model.family=bfa with model.ctc=false has no CTC",
        ),
        ({"model": MOCHA, "decoding": {"coverage_weight": 1.0}}, r"decoding.coverage_weight=1.0: model.family=mocha"),
        (
            {"model": {"family": "lstm_ctc"}, "decoding": {"coverage_weight": 1.0}},
            r"decoding.coverage_weight=1.0: model.family=lstm_ctc is searched frame by frame",
        ),
        (
            {"model": {"family": "deep_speech"}, "decoding": {"length_bonus": -1.0}},
            r"decoding.length_bonus=-1.0: model.family=deep_speech is searched frame by frame",
        ),
        (
            {"decoding": {"end_threshold": 3.0}, "model": {"family": "lstm_ctc"}},
            r"decoding.end_threshold=3.0: model.family=lstm_ctc is searched frame by frame.* set it to 1.5",
        ),
        ({"decoding": {"length_bonus": 1e308}}, r"decoding.length_bonus\n.* less than or equal to 100"),
        ({"decoding": {"coverage_weight": 1e308}}, r"decoding.coverage_weight\n.* less than or equal to 100"),
        ({"decoding": {"unit_candidates": 10**30}}, r"decoding.unit_candidates\n.* less than or equal to 65536"),
        ({"training": {"ctc_weight": 0.3}}, r"model.ctc=false with training.ctc_weight=0.3"),
        ({"model": {**BFA, "ctc": True}}, r"model.ctc=true with training.ctc_weight=0"),
        (
            {"model": {**BFA, "layers": 4}, "training": {"mwer_hypotheses": 4, "pretrain_layers": [2]}},
            r"mWER starts from a trained encoder",
        ),
        ({"training": {"mwer_hypotheses": 1}}, r"training.mwer_hypotheses=1 .*: expected 0, or at least 2"),
        ({"training": {"alignment_weight": 1.0}}, r"alignment_weight=1.0: model.family=bfa has outputs by frame"),
    ],
)
def test_options_that_a_family_has_no_use_for_are_refused(change, message):
    values = tiny_recipe().model_dump(mode="json") | {"model": BFA} | change
    with pytest.raises(ValidationError, match=message):
        Recipe.model_validate(values)

"""When a training is complete: the totals of one recipe, judged by another."""

import json

import pytest

from sonorant.recipe import Recipe
from sonorant.run_folder import RunFolder
from sonorant.training.completion import Reason, complete_totals, reason_to_end

TOTALS = {"reason": "epochs", "epochs": 3, "train_seconds": 90.0, "looks_without_better": 1, "steps": 7}


def recipe(**training):
    return Recipe.model_validate(
        {"version": 1, "name": "tiny", "corpus": {"reader": "manifest", "path": "mine.jsonl"}, "training": training}
    )


@pytest.fixture
def run(tmp_path):
    run = RunFolder(tmp_path)
    run.totals.write_text(json.dumps(TOTALS))
    return run


@pytest.mark.parametrize(
    ("training", "complete"),
    [
        ({"epochs": 3}, True),
        ({"epochs": 2}, True),
        ({"epochs": 4}, False),
        ({"epochs": 4, "patience": 1}, True),
        ({"epochs": 4, "patience": 2}, False),
        ({"epochs": 4, "max_minutes": 1.5}, True),
        ({"epochs": 4, "max_minutes": 2}, False),
    ],
)
def test_totals_are_those_of_a_complete_training_if_the_recipe_asks_for_no_more(run, training, complete):
    assert complete_totals(run, recipe(**training)) == (TOTALS if complete else None)


@pytest.mark.parametrize("stages", [[2], []])
@pytest.mark.parametrize(("layers", "complete"), [(2, False), (3, True), (None, True)])
def test_patience_completes_no_training_that_lacks_layers(run, layers, complete, stages):
    totals = TOTALS | {"layers": layers, "looks_without_better": 9}
    run.totals.write_text(json.dumps(totals))
    values = recipe(epochs=50, patience=3).model_dump(mode="json") | {"model": {"family": "lstm_ctc", "layers": 3}}
    deep = Recipe.model_validate(values | {"training": values["training"] | {"pretrain_layers": stages}})
    assert complete_totals(run, deep) == (totals if complete else None)


@pytest.mark.parametrize("text", ["", "[]", "null", "{}", '{"epochs": "3"}', "{"])
def test_what_tells_of_no_training_is_not_complete(run, text):
    run.totals.write_text(text)
    assert complete_totals(run, recipe(epochs=1)) is None
    run.totals.unlink()
    assert complete_totals(run, recipe(epochs=1)) is None


def test_epochs_come_before_patience_and_patience_before_time():
    training = recipe(epochs=3, patience=2, max_minutes=1).training
    assert reason_to_end(training, 3, 2, 60) is Reason.EPOCHS
    assert reason_to_end(training, 2, 2, 60) is Reason.PATIENCE
    assert reason_to_end(training, 2, 1, 60) is Reason.TIME
    assert reason_to_end(training, 2, 1, 59) is None

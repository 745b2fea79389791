from types import SimpleNamespace

import numpy as np
import pytest
from rigs.tiny_bfa import SECTION
from training.harness import tiny_trainer
from training.tiny import tiny_recipe

from sonorant.delivery.ledger import MemoryLedger
from sonorant.recipe.schema import Recipe
from sonorant.training.building import resumed_progress
from sonorant.training.checkpoints import Progress


@pytest.mark.parametrize(
    ("batches", "ranks", "expected"),
    [([3, 5], 2, [3, 5]), ([3, 5], 3, [5, 5, 5]), ([3, 5], 1, [5]), ([], 2, [0, 0])],
)
def test_a_gang_of_another_size_uses_no_number_of_a_batch_twice(batches, ranks, expected):
    assert resumed_progress(SimpleNamespace(progress=Progress(batches=batches)), ranks).batches == expected
    assert resumed_progress(None, ranks).batches == [0] * ranks


@pytest.mark.parametrize(("order", "widens"), [("fast", False), ("strict", True)])
def test_only_strict_order_has_what_to_call_when_a_late_rank_holds_a_step_up(tmp_path, order, widens):
    recipe = tiny_recipe()
    recipe = recipe.model_copy(update={"pipeline": recipe.pipeline.model_copy(update={"order": order})})
    trainer = tiny_trainer(recipe, tmp_path, MemoryLedger(22), total=22)
    assert callable(trainer.parts.held_up) == widens
    trainer.ports.reporter.close()


def test_dev_is_recognised_with_the_recipes_end_threshold(tmp_path):
    rates = []
    for threshold in (None, 1.0):
        values = tiny_recipe().model_dump(mode="json") | {"model": SECTION, "decoding": {"end_threshold": threshold}}
        trainer = tiny_trainer(Recipe.model_validate(values), tmp_path / str(threshold), MemoryLedger(22), total=22)
        model, evaluator = trainer.parts.step.model, trainer.parts.evaluator
        weights = model.named_weights()
        projection = np.random.default_rng(1).normal(0, 2, weights["decoder/projection"].shape)
        model.assign(weights | {"decoder/projection": projection.astype(np.float32)})
        evaluator.load()
        rates.append(evaluator.measure())
        trainer.ports.reporter.close()
    assert rates[0] != rates[1]

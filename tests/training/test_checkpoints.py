import dataclasses

import numpy as np
import pytest
from training.tiny import tiny_recipe

from sonorant.errors import Unavailable
from sonorant.training.checkpoints import (
    BadCheckpoint,
    Checkpoint,
    Checkpoints,
    Progress,
    fingerprint,
    load_checkpoint,
)


def checkpoint(step, mark="recipe"):
    arrays = {"lstm_0/weight": np.full((2, 3), step, np.float32)}
    return Checkpoint(
        Progress(step=step, batches=[4, 5]), mark, arrays, arrays, {"0": np.ones(2)}, {"t": np.ones(())}, b"ledger"
    )


@pytest.fixture
def warnings():
    return []


@pytest.fixture
def checkpoints(tmp_path, warnings):
    return Checkpoints(tmp_path, keep=2, warn=warnings.append)


def test_what_is_saved_comes_back(checkpoints):
    checkpoints.save(checkpoint(7), best=False)
    found = checkpoints.latest("recipe")
    assert found.progress == Progress(step=7, batches=[4, 5])
    assert found.ledger == b"ledger"
    np.testing.assert_array_equal(found.weights["lstm_0/weight"], np.full((2, 3), 7))
    assert set(found.adam) == {"t"}


def test_without_any_there_is_none(checkpoints, tmp_path):
    assert checkpoints.latest("recipe") is None
    with pytest.raises(BadCheckpoint, match="train first"):
        load_checkpoint(tmp_path, "best")


@pytest.mark.parametrize("name", ["arrays.npz", "state.json", "ledger.bin", "manifest.json"])
@pytest.mark.parametrize("harm", ["cut", "flip", "remove"])
def test_a_damaged_checkpoint_is_passed_over_with_a_message(checkpoints, warnings, name, harm):
    checkpoints.save(checkpoint(1), best=False)
    file = checkpoints.save(checkpoint(2), best=False) / name
    content = file.read_bytes()
    if harm == "remove":
        file.unlink()
    elif harm == "cut":
        file.write_bytes(content[: len(content) // 2])
    else:
        file.write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    assert checkpoints.latest("recipe").progress.step == 1
    assert "step-00000002" in warnings[0]


def test_old_ones_go_but_the_best_stays(checkpoints, tmp_path):
    for step in range(1, 6):
        checkpoints.save(checkpoint(step), best=step == 2)
    assert sorted(p.name for p in tmp_path.glob("step-*")) == ["step-00000002", "step-00000004", "step-00000005"]
    assert load_checkpoint(tmp_path, "best").progress.step == 2
    assert load_checkpoint(tmp_path, "latest").progress.step == 5
    assert load_checkpoint(tmp_path, "4").progress.step == 4
    with pytest.raises(BadCheckpoint, match=r"steps: 2, 4, 5"):
        load_checkpoint(tmp_path, "3")


def test_the_best_of_none_looked_at_is_the_latest(checkpoints, tmp_path):
    checkpoints.save(checkpoint(1), best=False)
    assert load_checkpoint(tmp_path, "best").progress.step == 1


def test_another_recipe_s_checkpoint_is_refused(checkpoints):
    checkpoints.save(checkpoint(1), best=False)
    with pytest.raises(BadCheckpoint, match="another run folder"):
        checkpoints.latest("other recipe")


def test_fingerprint_lets_limits_change_but_not_the_model():
    recipe = tiny_recipe(epochs=2)
    assert fingerprint(recipe) == fingerprint(tiny_recipe(epochs=9, patience=1))
    wider = recipe.model_copy(update={"model": recipe.model.model_copy(update={"cells": 13})})
    assert fingerprint(recipe) != fingerprint(wider)


def test_generations_grow_whatever_the_ledger_forgot(checkpoints):
    assert [checkpoints.next_generation(above) for above in (0, 0, 9, 3)] == [1, 2, 10, 11]


def test_a_checkpoint_that_finds_no_room_is_named_and_the_one_before_stays(checkpoints, tmp_path, small_disk):
    checkpoints.save(checkpoint(1), best=True)
    big = dataclasses.replace(checkpoint(2), ledger=bytes(5000))
    with pytest.raises(Unavailable, match="step-00000002: cannot be written: File too large"):
        checkpoints.save(big, best=True)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["step-00000001"]
    assert checkpoints.latest("recipe").progress.step == 1
    assert load_checkpoint(tmp_path, "best").progress.step == 1

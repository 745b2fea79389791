"""Checkpoint averaging: the mean of the best or the last checkpoints, and which of them are kept."""

import numpy as np
import pytest

from sonorant.training.checkpoint_average import averaged_checkpoint
from sonorant.training.checkpoints import BadCheckpoint, Checkpoint, Checkpoints, Progress

WERS = {1: 0.5, 2: 0.2, 3: 0.4, 4: 0.2, 5: 0.3}


def save(folder, wers, keep=9, keep_best=1, layers=None):
    """Save a checkpoint for each step; its weights are its number, and None is one without an evaluation."""
    checkpoints = Checkpoints(folder, keep, pytest.fail, keep_best)
    best = None
    for step, wer in wers.items():
        progress = Progress(step=step, dev=0.0 if wer is None else wer, dev_step=step - (wer is None), layers=layers)
        arrays = {"lstm_0/weight": np.full((2, 3), step, np.float32)}
        stale = {"lstm_0/weight": np.zeros((2, 3), np.float32)}
        checkpoint = Checkpoint(progress, {"seed": 1 + (step > 90)}, stale, arrays, {}, {}, b"")
        better = wer is not None and (best is None or wer < best)
        best = wer if better else best
        checkpoints.save(checkpoint, best=better)


@pytest.mark.parametrize(
    ("which", "count", "steps"),
    [("best", 1, [2]), ("best", 2, [2, 4]), ("best", 3, [2, 4, 5]), ("latest", 2, [4, 5]), ("3", 3, [1, 2, 3])],
)
def test_the_mean_is_that_of_the_evaluated_weights(tmp_path, which, count, steps):
    save(tmp_path, WERS)
    found = averaged_checkpoint(tmp_path, which, count)
    np.testing.assert_allclose(found.evaluated["lstm_0/weight"], np.full((2, 3), np.mean(steps)), rtol=1e-6)
    assert found.evaluated["lstm_0/weight"].dtype == np.float32


def test_a_checkpoint_between_evaluations_is_none_of_the_best(tmp_path):
    save(tmp_path, {1: 0.5, 2: None, 3: 0.4})
    found = averaged_checkpoint(tmp_path, "best", 2)
    np.testing.assert_allclose(found.evaluated["lstm_0/weight"], np.full((2, 3), 2.0))  # of 1 and 3


def test_fewer_than_asked_for_are_an_error_that_names_the_key(tmp_path):
    save(tmp_path, WERS, keep=2, keep_best=1)
    with pytest.raises(BadCheckpoint, match=r"mean of 4 .*latest.*found 3; .*training\.keep_checkpoints: 4"):
        averaged_checkpoint(tmp_path, "latest", 4)
    with pytest.raises(BadCheckpoint, match=r"training\.keep_best_checkpoints: 4"):
        averaged_checkpoint(tmp_path, "best", 4)


def test_the_best_are_kept_beside_the_newest(tmp_path):
    save(tmp_path, WERS, keep=1, keep_best=3)
    assert sorted(path.name[-1] for path in tmp_path.glob("step-*")) == ["2", "4", "5"]
    save(tmp_path / "other", {1: 0.1, 2: 0.2, 3: 0.4, 4: 0.5}, keep=1, keep_best=2)
    assert sorted(path.name[-1] for path in (tmp_path / "other").glob("step-*")) == ["1", "2", "4"]


def test_the_best_are_those_of_as_many_layers_as_the_newest(tmp_path):
    save(tmp_path, {1: 0.1, 2: 0.11}, keep=1, keep_best=2, layers=2)
    save(tmp_path, {3: 0.5, 4: 0.4, 5: 0.3, 6: 0.6}, keep=1, keep_best=2, layers=3)
    assert sorted(path.name[-1] for path in tmp_path.glob("step-*")) == ["4", "5", "6"]
    found = averaged_checkpoint(tmp_path, "best", 2)
    np.testing.assert_allclose(found.evaluated["lstm_0/weight"], np.full((2, 3), 4.5))


def test_a_checkpoint_of_another_recipe_is_not_averaged_in(tmp_path):
    save(tmp_path, {90: 0.1, 91: 0.2})
    with pytest.raises(BadCheckpoint, match=r"step-00000090: made with another recipe than latest: seed"):
        averaged_checkpoint(tmp_path, "latest", 2)


def test_a_damaged_checkpoint_is_named(tmp_path):
    save(tmp_path, WERS)
    (tmp_path / "step-00000004" / "arrays.npz").write_bytes(b"cut")
    with pytest.raises(BadCheckpoint, match=r"step-00000004/arrays\.npz: its checksum"):
        averaged_checkpoint(tmp_path, "latest", 2)

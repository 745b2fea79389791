import errno
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from training.small_checkpoints import RECIPE, checkpoint, damage, gang, steps

from sonorant.errors import Unavailable
from sonorant.training.checkpoints import (
    BadCheckpoint,
    Checkpoints,
    Progress,
    load_checkpoint,
)


@pytest.fixture
def warnings():
    return []


@pytest.fixture
def checkpoints(tmp_path, warnings):
    return Checkpoints(tmp_path, keep=2, warn=warnings.append)


def test_what_is_saved_comes_back(checkpoints):
    checkpoints.save(checkpoint(7), best=False)
    found = checkpoints.latest(RECIPE)
    assert found.progress == Progress(step=7, batches=[4, 5])
    assert found.ledger == b"ledger"
    np.testing.assert_array_equal(found.weights["lstm_0/weight"], np.full((2, 3), 7))
    assert set(found.optimizer) == {"t"}


def test_without_any_there_is_none(checkpoints, tmp_path):
    assert checkpoints.latest(RECIPE) is None
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
    assert checkpoints.latest(RECIPE).progress.step == 1
    assert "step-00000002" in warnings[0]


def test_that_no_checkpoint_is_whole_is_said(checkpoints, warnings):
    for step in (1, 2):
        damage(checkpoints.save(checkpoint(step), best=False))
    assert checkpoints.latest(RECIPE) is None
    assert len(warnings) == 3
    assert warnings[-1].endswith("none of 2 checkpoints is complete; there is nothing to resume from")


def test_old_ones_go_but_the_best_stays(checkpoints, tmp_path):
    for step in range(1, 6):
        checkpoints.save(checkpoint(step), best=step == 2)
    assert sorted(p.name for p in tmp_path.glob("step-*")) == ["step-00000002", "step-00000004", "step-00000005"]
    assert load_checkpoint(tmp_path, "best").progress.step == 2
    assert load_checkpoint(tmp_path, "latest").progress.step == 5
    assert load_checkpoint(tmp_path, "4").progress.step == 4
    with pytest.raises(BadCheckpoint, match=r"steps: 2, 4, 5"):
        load_checkpoint(tmp_path, "3")


@pytest.mark.parametrize("which", ["", "generation", "LATEST", "-1", "step-00000001"])
def test_a_name_that_is_none_of_a_checkpoint_names_no_other(checkpoints, tmp_path, which):
    checkpoints.begin(0, RECIPE)
    checkpoints.save(checkpoint(1), best=False)
    with pytest.raises(
        BadCheckpoint, match=rf"no checkpoint '{which}' \(steps: 1\); expected best or latest, or a step"
    ):
        load_checkpoint(tmp_path, which)


def test_the_best_of_none_looked_at_is_the_latest(checkpoints, tmp_path):
    checkpoints.save(checkpoint(1), best=False)
    assert load_checkpoint(tmp_path, "best").progress.step == 1


def test_another_recipe_s_checkpoint_is_refused(checkpoints):
    checkpoints.save(checkpoint(1), best=False)
    with pytest.raises(BadCheckpoint, match=r"seed: 1 then, 2 now; train into another run folder"):
        checkpoints.latest({"seed": 2})


def test_a_checkpoint_from_before_recipes_were_kept_is_refused_and_not_trained_over(checkpoints, monkeypatch):
    path = checkpoints.save(checkpoint(1), best=False)
    state = json.loads((path / "state.json").read_text())
    state["fingerprint"] = state.pop("identity")
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "state.json").write_text(json.dumps(state))
    manifest["state.json"] = hashlib.sha256((path / "state.json").read_bytes()).hexdigest()
    (path / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BadCheckpoint, match=r"version: before 0\.2 then"):
        checkpoints.begin(0, RECIPE)


def test_generations_grow_whatever_the_ledger_forgot(checkpoints):
    assert [checkpoints.next_generation(above) for above in (0, 0, 9, 3)] == [1, 2, 10, 11]


@pytest.mark.parametrize("keep", [1, 2])
def test_what_is_saved_after_a_damaged_checkpoint_of_a_higher_step_stays_and_is_gone_on_from(tmp_path, keep):
    first, _, _ = gang(tmp_path, keep)
    first.save(checkpoint(3), best=False)
    damage(first.save(checkpoint(8), best=True))
    for resumed, step in ((3 if keep == 2 else None, 4), (4, 5), (5, 6)):
        checkpoints, _, begun = gang(tmp_path, keep)
        assert begun == resumed
        checkpoints.save(checkpoint(step), best=False)
        assert 8 not in steps(tmp_path)
    assert steps(tmp_path) == [5, 6][-keep:]
    assert load_checkpoint(tmp_path, "latest").progress.step == 6
    assert load_checkpoint(tmp_path, "best").progress.step == 6  # the best one is lost, so the latest stands in


def test_after_the_best_checkpoint_is_lost_the_next_look_at_dev_finds_a_best_one(tmp_path):
    first, _, _ = gang(tmp_path)
    third = checkpoint(3)
    third.progress.best_dev = third.progress.regular_best = 0.2
    third.progress.looks_without_better = 3
    first.save(third, best=False)
    damage(first.save(checkpoint(8), best=True))
    progress = Checkpoints(tmp_path, 2, [].append).begin(0, RECIPE)[1].progress
    assert (progress.best_dev, progress.regular_best, progress.looks_without_better) == (None, None, 0)
    assert not (tmp_path / "best").exists()


def test_a_checkpoint_that_cannot_be_read_now_is_not_passed_over(tmp_path, monkeypatch):
    """A volume that fails for a moment may not cost what was trained since the checkpoint before."""
    checkpoints, _, _ = gang(tmp_path)
    checkpoints.save(checkpoint(1), best=False)
    checkpoints.save(checkpoint(2), best=False)
    read = Path.read_bytes

    def refused(path):
        if path.parent.name == "step-00000002":
            raise OSError(errno.EIO, "Input/output error")
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(Unavailable, match=r"step-00000002.*Input/output error; the same command goes on"):
        gang(tmp_path)
    monkeypatch.undo()
    assert gang(tmp_path)[2] == 2

import contextlib
import dataclasses
import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from services.process.restarts import FINAL_CODES
from sonorant.delivery.ledger import StaleGeneration
from sonorant.errors import Unavailable
from sonorant.training.checkpoint_files import progress_of
from sonorant.training.checkpoints import (
    BadCheckpoint,
    Checkpoint,
    Checkpoints,
    Progress,
    load_checkpoint,
)

RECIPE = {"seed": 1}


def checkpoint(step, mark=RECIPE):
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


def gang(folder, keep=2, warnings=None):
    """Return the checkpoints of a gang that begins now, its generation, and the step that it begins from."""
    checkpoints = Checkpoints(folder, keep, [].append if warnings is None else warnings.append)
    generation, begun = checkpoints.begin(0, RECIPE)
    return checkpoints, generation, begun and begun.progress.step


def steps(folder):
    return sorted(int(path.name[5:]) for path in folder.glob("step-*"))


def damage(path):
    (path / "arrays.npz").write_bytes(b"")


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
    third.progress.best_dev = 0.2
    first.save(third, best=False)
    damage(first.save(checkpoint(8), best=True))
    assert Checkpoints(tmp_path, 2, [].append).begin(0, RECIPE)[1].progress.best_dev is None
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


class Stopped:
    """A gang whose first rank is stopped in the middle of a save, until `meanwhile` is over."""

    def __init__(self, monkeypatch, at, meanwhile):
        """at: how many renames it makes before."""
        self._replace, self._left, self._meanwhile = os.replace, at, meanwhile
        self._monkeypatch = monkeypatch
        monkeypatch.setattr(os, "replace", self)

    def __call__(self, source, target):
        self._left -= 1
        if self._left < 0:
            self._monkeypatch.setattr(os, "replace", self._replace)
            self._meanwhile()
        self._replace(source, target)


@pytest.mark.parametrize("step", [2, 4, 9])
def test_an_older_gang_that_wakes_late_leaves_everything_as_the_newer_one_has_it(tmp_path, step):
    old, _, _ = gang(tmp_path)
    old.save(checkpoint(1), best=False)
    new, generation, begun = gang(tmp_path)
    assert (generation, begun) == (2, 1)
    new.save(checkpoint(3), best=True)
    new.save(checkpoint(4), best=False)
    before = {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")}
    with pytest.raises(StaleGeneration, match=r"generation 1: .* is in generation 2") as caught:
        old.save(checkpoint(step, RECIPE), best=True)
    assert caught.value.exit_code not in FINAL_CODES
    assert {path: path.is_file() and path.read_bytes() for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("renames", [0, 1, 2])
@pytest.mark.parametrize("later", [1, 0], ids=["other steps", "the same step"])
def test_an_older_gang_that_is_stopped_before_a_rename_does_not_make_it(tmp_path, monkeypatch, renames, later):
    """It was allowed the rename, but the gang that began since has removed what it would rename."""
    begun = []

    def another_gang():
        new, _, step = gang(tmp_path)
        begun.append(step)
        new.save(checkpoint(9 + later), best=True)

    old, _, _ = gang(tmp_path)
    old.save(checkpoint(1), best=True)
    Stopped(monkeypatch, renames, another_gang)
    with pytest.raises(Unavailable, match="cannot be written"):
        old.save(checkpoint(9, RECIPE), best=True)
    assert begun == [9 if renames else 1]
    for which in ("latest", "best"):
        assert load_checkpoint(tmp_path, which).progress.step == 9 + later
    assert json.loads((tmp_path / f"step-{9 + later:08d}" / "state.json").read_text())["generation"] == 2
    assert gang(tmp_path)[2] == 9 + later


def test_an_older_gang_that_is_stopped_before_it_prunes_leaves_what_the_newer_one_saved(tmp_path, monkeypatch):
    def another_gang(newest):
        new, _, _ = gang(tmp_path)
        for step in (3, 4):
            new.save(checkpoint(step), best=step == 3)
        prune(newest)

    old, _, _ = gang(tmp_path)
    prune = old._prune
    monkeypatch.setattr(old, "_prune", another_gang)
    old.save(checkpoint(2), best=False)
    assert steps(tmp_path) == [3, 4]


def test_what_an_older_gang_saves_without_seeing_the_fence_is_not_gone_on_from(tmp_path, monkeypatch):
    """On a volume whose clients see each other's writes late."""
    old, _, _ = gang(tmp_path)
    old.save(checkpoint(1), best=False)
    new, _, _ = gang(tmp_path)
    new.save(checkpoint(3), best=True)
    monkeypatch.setattr(old, "_fence", lambda: None)
    old.save(checkpoint(9), best=True)
    assert Checkpoints(tmp_path, 2, [].append).latest(RECIPE).progress.step == 3
    new.save(checkpoint(4), best=False)
    assert steps(tmp_path) == [3, 4]
    assert [load_checkpoint(tmp_path, which).progress.step for which in ("best", "latest")] == [3, 4]


class Killed(BaseException):
    pass


@pytest.mark.parametrize("renames", range(5))
@pytest.mark.parametrize("again", [False, True], ids=["another step", "the same step again"])
def test_a_save_that_is_killed_anywhere_leaves_no_litter_and_no_gap(tmp_path, monkeypatch, renames, again):
    def kill():
        for name in ("rmtree", "unlink", "rmdir"):  # nothing is tidied up by who is killed
            monkeypatch.setattr(shutil if name == "rmtree" else os, name, lambda *_, **__: None)
        raise Killed

    checkpoints, _, _ = gang(tmp_path, keep=1)
    checkpoints.save(checkpoint(1), best=True)
    second = checkpoint(1 if again else 2)
    second.progress.epoch = 1
    Stopped(monkeypatch, renames, kill)
    with contextlib.suppress(Killed):
        checkpoints.save(second, best=True)
    monkeypatch.undo()
    checkpoints, _, begun = gang(tmp_path, keep=1)
    found = checkpoints.latest(RECIPE)
    whole = renames > (1 if again else 0)
    assert (begun, found.progress.epoch) == (2 if whole and not again else 1, int(whole))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    for pointer in ("latest", "best"):
        assert load_checkpoint(tmp_path, pointer).progress == found.progress
    checkpoints.save(checkpoint(3), best=False)
    assert steps(tmp_path) == sorted({begun, 3})


def test_a_gang_of_another_recipe_does_not_fence_the_one_that_trains(tmp_path):
    checkpoints, _, _ = gang(tmp_path)
    checkpoints.save(checkpoint(1), best=False)
    with pytest.raises(BadCheckpoint, match=r"seed: 1 then, 2 now; train into another run folder"):
        Checkpoints(tmp_path, 2, [].append).begin(0, {"seed": 2})
    checkpoints.save(checkpoint(2), best=False)


@pytest.fixture
def disk(tmp_path):
    """A disk of its own, of 256 KB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder], capture_output=True, check=False
    )
    if mount.returncode:
        pytest.skip("this machine lets nobody mount a disk")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def refusal(checkpoints, *arguments):
    """Return why a save was refused; None if it was not."""
    try:
        checkpoints.save(*arguments)
    except Unavailable as error:
        return error
    return None


@pytest.mark.parametrize("again", [False, True], ids=["another step", "the same step again"])
@pytest.mark.parametrize("pages", range(9))
def test_a_full_disk_at_any_write_leaves_what_was_and_once_there_is_room_training_goes_on(disk, again, pages):
    """With no page to spare a save fails at its first write, with eight at none."""
    folder = disk / "checkpoints"
    checkpoints, _, _ = gang(folder, keep=1)
    checkpoints.save(checkpoint(1), best=True)
    last = dataclasses.replace(checkpoint(1 if again else 2), ledger=bytes(9000))
    disk_free = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes((disk_free.f_bavail - pages) * disk_free.f_frsize))
    error = refusal(checkpoints, last, True)
    assert error is not None if pages < 6 else error is None or pages < 8
    if error is not None:
        assert re.search(
            "(step-0000000[12]|best|latest): cannot be written: No space left.*free disk space", str(error)
        )
        assert error.exit_code not in FINAL_CODES
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    (disk / "filler").unlink()
    checkpoints, _, begun = gang(folder, keep=1)
    for pointer in ("latest", "best"):
        assert load_checkpoint(folder, pointer).progress.step == begun
    checkpoints.save(last, best=True)
    assert load_checkpoint(folder, "best").ledger == last.ledger


def test_a_checkpoint_that_finds_no_room_is_named_and_the_one_before_stays(checkpoints, tmp_path, small_disk):
    checkpoints.save(checkpoint(1), best=True)
    big = dataclasses.replace(checkpoint(2), ledger=bytes(5000))
    with pytest.raises(Unavailable, match="step-00000002: cannot be written: File too large"):
        checkpoints.save(big, best=True)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["step-00000001"]
    assert checkpoints.latest(RECIPE).progress.step == 1
    assert load_checkpoint(tmp_path, "best").progress.step == 1


def test_progress_of_before_dev_had_other_figures_is_read():
    then = {"progress": {"step": 8, "wer": 0.3, "wer_step": 6, "best_wer": 0.2}}
    found = Progress(**progress_of(then))
    assert (found.step, found.dev, found.dev_step, found.best_dev) == (8, 0.3, 6, 0.2)
    assert progress_of({}) == {}

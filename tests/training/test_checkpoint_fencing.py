"""Gangs that are stopped or killed in the middle of a save, and the gangs that begin meanwhile."""

import contextlib
import json
import os
import shutil

import pytest
from training.small_checkpoints import RECIPE, checkpoint, gang, steps

from services.process.restarts import FINAL_CODES
from sonorant.delivery.ledger import StaleGeneration
from sonorant.errors import Unavailable
from sonorant.training.checkpoints import BadCheckpoint, Checkpoints, load_checkpoint


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

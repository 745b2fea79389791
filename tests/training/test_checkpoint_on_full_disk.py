"""Saves that find no room."""

import dataclasses
import os
import re
import subprocess

import pytest
from training.small_checkpoints import RECIPE, checkpoint, gang

from services.process.restarts import FINAL_CODES
from sonorant.errors import Unavailable
from sonorant.training.checkpoints import Checkpoints, load_checkpoint


@pytest.fixture
def checkpoints(tmp_path):
    return Checkpoints(tmp_path, keep=2, warn=[].append)


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

import errno
import subprocess

import pytest
from chaos.disk import SmallDisk, can_mount


@pytest.fixture
def disk(tmp_path):
    if not can_mount(tmp_path):
        pytest.skip("this machine lets nobody mount a disk")
    disk = SmallDisk(tmp_path / "disk", 2)
    disk.mount()
    yield disk
    disk.unmount()


def test_a_full_disk_takes_no_line_more_and_a_freed_one_does(disk):
    log = disk.folder / "a.log"
    log.write_text("a line\n")
    disk.fill()
    with pytest.raises(OSError, match="No space left") as raised, log.open("a") as file:
        file.write("x")
    assert raised.value.errno == errno.ENOSPC
    disk.free()
    with log.open("a") as file:
        file.write("another\n")
    assert log.read_text().split() == ["a", "line", "another"]


def test_nothing_stays_mounted(disk, tmp_path):
    mounts = subprocess.run(["mount"], capture_output=True, text=True, check=True).stdout
    assert str(disk.folder) in mounts
    assert str(tmp_path / "try") not in mounts

"""A real small disk that can be filled up and emptied again."""

import os
import subprocess
from contextlib import contextmanager

import pytest


class SmallDisk:
    """A disk of 8 MB."""

    def __init__(self, folder):
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self, room_bytes=0):
        """Leave so many bytes free, and what the last page of each file still holds."""
        stat = os.statvfs(self.folder)
        self._filler.write_bytes(bytes(stat.f_bavail * stat.f_frsize - room_bytes))

    def make_room(self):
        self._filler.unlink()


@contextmanager
def small_disk_at(folder):
    """Mount one, or skip the test."""
    folder.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", folder], capture_output=True, check=False)
    if mount.returncode:
        pytest.skip("this machine lets nobody mount a disk")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)

"""A small disk of its own below a folder, which can be filled to the last byte and freed again."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

__all__ = ["SmallDisk", "can_mount"]

_PAGE = os.sysconf("SC_PAGE_SIZE")


def can_mount(folder: Path) -> bool:
    """Whether mounting a disk is permitted here."""
    disk = SmallDisk(folder / "try", 1)
    if disk.mount():
        disk.unmount()
        return True
    return False


class SmallDisk:
    """A file system of `megabytes` in memory, once it is mounted at `folder`."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self._megabytes = megabytes

    def mount(self) -> bool:
        """Mount it; False if that is refused."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={self._megabytes}m", "none", str(self.folder)]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0

    def unmount(self) -> None:
        """Unmount it, even with open files."""
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)

    def fill(self) -> None:
        """Leave no byte free, not even in the last page of a log: that would take some dozen lines more."""
        for log in self.folder.rglob("*.log"):
            with log.open("ab") as file:
                file.write(b"\n" * (-file.tell() % _PAGE))
        descriptor = os.open(self._filler, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        block = bytes(1 << 20)
        try:
            while block:
                try:
                    os.write(descriptor, block)
                except OSError:
                    block = block[: len(block) // 2]
        finally:
            os.close(descriptor)

    def free(self) -> None:
        """Free its space again."""
        with suppress(FileNotFoundError):
            self._filler.unlink()

    @property
    def _filler(self) -> Path:
        return self.folder / ".filler"

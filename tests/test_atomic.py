import os
from pathlib import Path

import pytest

from sonorant.atomic import atomic_file, atomic_folder, atomic_write
from sonorant.errors import Unavailable


def test_folders_above_are_made_and_old_content_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    atomic_write(path, "old")
    atomic_write(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(path.parent) == ["b.txt"]


def test_interrupted_write_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    atomic_write(path, "old")

    def interrupted() -> None:
        with atomic_file(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.bin"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_is_unavailable_and_names_the_path(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"

    def write_to_full_disk() -> None:
        full = os.open("/dev/full", os.O_WRONLY)
        with atomic_file(path) as file:
            os.dup2(full, file.fileno())
            os.close(full)
            file.write(b"x" * 100_000)

    with pytest.raises(Unavailable, match=r"a\.bin: cannot be written: No space left on device"):
        write_to_full_disk()
    assert not path.exists()


def test_unwritable_place_is_unavailable_and_names_the_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="file: cannot be written"):
        atomic_write(tmp_path / "file" / "a.txt", "x")


def test_folder_appears_whole_and_replaces_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "model"
    for content in ("1", "2"):
        with atomic_folder(path) as folder:
            (folder / "weights").write_text(content)
            assert not path.exists() or (path / "weights").read_text() != content
    assert (path / "weights").read_text() == "2"
    assert os.listdir(tmp_path) == ["model"]


def test_folder_of_a_failed_attempt_vanishes(tmp_path: Path) -> None:

    def failing() -> None:
        with atomic_folder(tmp_path / "model") as folder:
            (folder / "weights").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert os.listdir(tmp_path) == []

import errno
import fcntl
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sonorant.atomic import atomic_file, atomic_folder, atomic_write, sweep
from sonorant.errors import Unavailable


def test_folders_above_are_made_and_old_content_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.txt"
    atomic_write(path, "old")
    atomic_write(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(path.parent) == ["b.txt"]


def test_what_a_link_leads_to_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "there").symlink_to("kept/here")
    for text in ("old", "new"):
        atomic_write(tmp_path / "there", text)
        assert (tmp_path / "there").is_symlink()
        assert (tmp_path / "kept/here").read_text() == text
    assert os.listdir(tmp_path / "kept") == ["here"]


def test_a_pipe_is_written_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    atomic_write(pipe, "new")
    assert os.read(reader, 9) == b"new"
    os.close(reader)
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_that_is_full_is_unavailable_and_stays_one() -> None:
    with pytest.raises(Unavailable, match="/dev/full: cannot be written: No space left on device"):
        atomic_write(Path("/dev/full"), "new")
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("name", ["a" * 255, "\uac00" * 85])
def test_a_name_may_be_as_long_as_the_file_system_takes(tmp_path: Path, name: str) -> None:
    atomic_write(tmp_path / name, "new")
    assert os.listdir(tmp_path) == [name]


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


def _write_twice_at_once(path: Path) -> None:
    with atomic_folder(path, replaces=False) as late:
        (late / "file").write_text("late")
        with atomic_folder(path, replaces=False) as early:
            (early / "file").write_text("early")


def test_of_two_writers_at_once_of_a_folder_that_is_not_replaced_the_first_has_it(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="second: another process has written it meanwhile; do it again"):
        _write_twice_at_once(tmp_path / "second")
    assert (tmp_path / "second/file").read_text() == "early"
    assert [path.name for path in tmp_path.iterdir()] == ["second"]


def test_what_killed_writers_left_is_swept_and_a_folder_that_one_had_moved_aside_comes_back(tmp_path: Path) -> None:
    for name in (".model.abcd_123", ".replaced.old.abcd1234", ".replaced", ".lost.old.0123abcd", "model", "replaced"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_text(name)
    for name in (".latest.abcdefgh", ".nfs0000000000001", ".hidden"):
        (tmp_path / name).write_text("")
    sweep(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [".hidden", ".nfs0000000000001", ".replaced", "lost", "model", "replaced"]
    assert (tmp_path / "lost" / "weights").read_text() == ".lost.old.0123abcd"
    assert (tmp_path / "replaced" / "weights").read_text() == "replaced"
    sweep(tmp_path / "nowhere")


@pytest.mark.parametrize("mode", [0o700, 0o2700, 0o755], ids=["as made", "below a setgid folder", "being synced"])
def test_a_folder_s_next_writer_removes_what_a_killed_one_left_and_nothing_of_one_alive(
    tmp_path: Path, mode: int
) -> None:
    script = (
        "import os, sys; from pathlib import Path; from sonorant.atomic import atomic_folder\n"
        "with atomic_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'half').write_text('x')\n"
        "    print(folder.name, flush=True); sys.stdin.read()"
    )
    command, pipe = [sys.executable, "-c", script, str(tmp_path / "model")], subprocess.PIPE
    killed, alive = (subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(2))
    names = [process.stdout.readline().strip() for process in (killed, alive) if process.stdout]
    others = [".models.draft.abcd1234", ".model.original"]  # of another name, and a user's own
    for name in others:
        (tmp_path / name).mkdir(0o700)
    killed.kill()
    killed.communicate()
    (tmp_path / names[0]).chmod(mode)
    with atomic_folder(tmp_path / "model") as folder:
        (folder / "weights").write_text("new")
        assert sorted(os.listdir(tmp_path)) == sorted([names[1], *others, folder.name])
    assert alive.communicate("")[0] == ""
    assert (alive.returncode, sorted(os.listdir(tmp_path))) == (0, [*sorted(others), "model"])
    assert os.listdir(tmp_path / "model") == ["half"]


def test_a_folder_that_was_removed_before_its_writer_had_locked_it_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = tempfile.mkdtemp, []

    def removed_at_first(**given: str) -> str:
        made.append(make(**given))
        if len(made) == 1:
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr(tempfile, "mkdtemp", removed_at_first)
    with atomic_folder(tmp_path / "model") as folder:
        (folder / "weights").write_text("new")
    assert len(made) == 2
    assert os.listdir(tmp_path) == ["model"]


@pytest.mark.parametrize(("error", "folders"), [(BlockingIOError, 2), (OSError, 1)])
def test_a_folder_whose_lock_another_has_is_left_to_it_and_a_file_system_without_locks_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError], folders: int
) -> None:
    (tmp_path / "model").mkdir()
    asked, lock = [], fcntl.flock

    def refused_at_first(descriptor: int, operation: int) -> None:
        assert operation & fcntl.LOCK_NB, "it waits"
        asked.append(descriptor)
        if len(asked) == 1:
            raise error
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", refused_at_first)
    with atomic_folder(tmp_path / "model") as folder:
        (folder / "weights").write_text("new")
    assert len(asked) == folders
    assert (tmp_path / "model" / "weights").read_text() == "new"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_who_is_not_ready_at_the_last_moment_leaves_the_old_content(tmp_path: Path, what: str) -> None:
    """`ready` is asked when all is written, so that nothing slow lies between its answer and the rename."""

    def not_ready() -> None:
        assert len(os.listdir(tmp_path)) == 2
        raise ZeroDivisionError

    def write(ready: Callable[[], None] = lambda: None) -> None:
        if what == "file":
            atomic_write(tmp_path / "name", "new", ready)
        else:
            with atomic_folder(tmp_path / "name", ready) as folder:
                (folder / "weights").write_text("new")

    write()
    before = (tmp_path / "name").stat().st_ino
    with pytest.raises(ZeroDivisionError):
        write(not_ready)
    assert os.listdir(tmp_path) == ["name"]
    assert (tmp_path / "name").stat().st_ino == before


@pytest.mark.parametrize("refused", [0, 1])
def test_a_folder_that_cannot_be_replaced_is_there_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int
) -> None:
    path, replace, renames = tmp_path / "model", os.replace, itertools.count()

    def write(content: str) -> None:
        with atomic_folder(path) as folder:
            (folder / "weights").write_text(content)

    def full(source: str, target: str) -> None:
        if next(renames) == refused:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    write("old")
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(Unavailable, match="model: cannot be written: No space left"):
        write("new")
    assert os.listdir(tmp_path) == ["model"]
    assert (path / "weights").read_text() == "old"


def test_folder_of_a_failed_attempt_vanishes(tmp_path: Path) -> None:

    def failing() -> None:
        with atomic_folder(tmp_path / "model") as folder:
            (folder / "weights").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert os.listdir(tmp_path) == []

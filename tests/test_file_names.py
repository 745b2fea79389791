import errno
import os
import socket
from pathlib import Path

import pytest

from sonorant.errors import Unavailable
from sonorant.file_names import as_text, fault_of, files_below, is_text, path_fault, shown


def test_names_are_shown_as_text_that_names_them_apart() -> None:
    assert shown("é/\u2028") == "é/\u2028"
    assert shown(Path(os.fsdecode(b"a\xff"))) == "a\\udcff"
    assert [is_text(name) for name in ("é", os.fsdecode(b"\xff"), "\ud800")] == [True, False, False]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a\nb", r"a\nb"),
        ("a\r\tb", r"a\r\tb"),
        ("\x1b[2J\x7f\x9b", r"\x1b[2J\x7f\x9b"),
        ("a\u202eb", r"a\u202eb"),  # the rest would be written from right to left
        (r"a\nb", r"a\\nb"),  # so that it is not taken for the first
    ],
)
def test_a_name_is_shown_on_one_line_and_commands_no_terminal(name: str, text: str) -> None:
    assert shown(name) == text


def test_a_name_that_utf_8_can_write_is_text_as_it_is() -> None:
    names = ("é\\\n\x1b", os.fsdecode(b"a\xff"))
    assert [as_text(name) for name in names] == ["é\\\n\x1b", "a\\udcff"]


def test_a_file_has_no_fault_and_everything_else_its_own(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "dangling").symlink_to("nothing")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "socket"))
    names = ("file", "link", "circle", "dangling", "pipe", "socket", "none", "file/below", "a\0b", "x" * 300, ".")
    assert {name[:10]: path_fault(tmp_path / name) for name in names} == {
        "file": None,
        "link": None,
        "circle": "no such file: its links lead round in a circle",
        "dangling": "no such file: it is a link to nothing",
        "pipe": "no such file: it is a pipe",
        "socket": "no such file: it is a socket",
        "none": "no such file",
        "file/below": "no such file",
        "a\0b": "no such file: its name holds a NUL",
        "x" * 10: "no such file: its name is longer than the file system takes",
        ".": "no such file: it is a folder",
    }
    assert path_fault(Path("/dev/zero")) == "no such file: it is a device"


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.ENOMEM, errno.EMFILE, errno.ETIMEDOUT])
def test_what_the_machine_fails_at_is_no_fault_of_the_path(code: int) -> None:
    with pytest.raises(Unavailable, match=r"a\\udcff: cannot be read: .*; look at its disk or mount"):
        fault_of(Path(os.fsdecode(b"a\xff")), OSError(code, os.strerror(code)))


def test_a_path_that_may_not_be_read_is_at_fault() -> None:
    denied = OSError(errno.EACCES, os.strerror(errno.EACCES))
    assert fault_of(Path("a"), denied) == "cannot be read: permission denied"


def test_everything_of_a_wanted_name_is_found_below_at_any_depth_in_order(tmp_path: Path) -> None:
    (tmp_path / "b.wav" / "deep").mkdir(parents=True)
    wanted = ["a.wav", "b.wav", "b.wav/c.wav", "b.wav/deep/d.wav", os.fsdecode(b"e\xff.wav"), "f.wav"]
    for name in (wanted[0], *wanted[2:5], "other"):
        (tmp_path / name).touch()
    (tmp_path / "f.wav").symlink_to("nothing")
    (tmp_path / "linked").symlink_to("b.wav")
    found = files_below(tmp_path, lambda name: name.endswith(".wav"))
    assert [str(path.relative_to(tmp_path)) for path in found.paths] == wanted
    assert found.unlisted == ()


def test_hidden_files_and_folders_are_found_unless_they_do_not_count(tmp_path: Path) -> None:
    folder = tmp_path / ".given"
    (folder / "seen" / ".deep").mkdir(parents=True)
    for name in (".a.wav", "seen/b.wav", "seen/.deep/c.wav"):
        (folder / name).touch()
    found = [files_below(folder, lambda name: name.endswith(".wav"), hidden=hidden).paths for hidden in (True, False)]
    assert found == [
        (folder / ".a.wav", folder / "seen" / ".deep" / "c.wav", folder / "seen" / "b.wav"),
        (folder / "seen" / "b.wav",),
    ]


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    assert files_below(tmp_path / "none", bool) == ((), ((tmp_path / "none", "no such file"),))

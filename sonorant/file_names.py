"""Files under a path, with any names: bytes that are not UTF-8, dangling links, pipes.

A path's own fault is returned in words, so that it excludes that file alone; a failure of the file system raises
Unavailable.
"""

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sonorant.errors import Unavailable
from sonorant.text.visible import visible

__all__ = ["Below", "as_text", "fault_of", "files_below", "is_text", "path_fault", "shown"]

_OF_THE_PATH = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "no such file",
    errno.ELOOP: "no such file: its links lead round in a circle",
    errno.ENAMETOOLONG: "no such file: its name is longer than the file system takes",
    errno.EACCES: "cannot be read: permission denied",
    errno.EPERM: "cannot be read: permission denied",
    errno.ENXIO: "no such file: it is a socket",
}
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class Below(NamedTuple):
    """Paths that were asked for, sorted, and folders that may not be listed, each with the reason."""

    paths: tuple[Path, ...]
    unlisted: tuple[tuple[Path, str], ...]


def shown(path: Path | str) -> str:
    r"""Return a path as text for any file and terminal, one line, by which names can be told apart.

    A byte that is not UTF-8 is shown as `\udcff`, a line feed or an escape as `\n` or `\x1b`, a backslash as two.
    """
    return visible(str(path).replace("\\", r"\\"))


def as_text(name: str) -> str:
    r"""Return a name that can be written in UTF-8: itself, but for a byte that is not UTF-8, as `\udcff`."""
    return name.encode("utf-8", "backslashreplace").decode()


def is_text(name: str) -> bool:
    """Return whether a name can be written in UTF-8; one of other bytes, or with a lone surrogate, cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def path_fault(path: Path) -> str | None:
    """Return why `path` is no regular file that this process may open, None if it is; nothing is opened.

    Raises Unavailable when the file system fails.
    """
    try:
        mode = os.stat(path).st_mode
    except ValueError:
        return "no such file: its name holds a NUL"
    except OSError as error:
        if error.errno == errno.ENOENT and path.is_symlink():
            return "no such file: it is a link to nothing"
        return fault_of(path, error)
    if stat.S_ISDIR(mode) and not os.access(path, os.R_OK | os.X_OK):
        return _OF_THE_PATH[errno.EACCES]
    if not stat.S_ISREG(mode):
        return f"no such file: it is {next((kind for holds, kind in _KINDS if holds(mode)), 'of an unknown kind')}"
    return None if os.access(path, os.R_OK) else _OF_THE_PATH[errno.EACCES]


def fault_of(path: Path, error: OSError) -> str:
    """Return an error of opening `path` in words; raises Unavailable if it is the file system's, not the path's."""
    try:
        return _OF_THE_PATH[error.errno or 0]
    except KeyError:
        raise Unavailable(f"{shown(path)}: cannot be read: {error.strerror}; look at its disk or mount") from error


def files_below(folder: Path, wanted: Callable[[str], bool], hidden: bool = True) -> Below:
    """Return the paths with a `wanted` name below `folder`, at any depth; links to folders are not followed.

    hidden: whether files and folders count whose names begin with a dot. Paths may be of any kind: see `path_fault`.
    Raises Unavailable when the file system fails.
    """
    found: list[Path] = []
    unlisted: list[tuple[Path, str]] = []

    def note(error: OSError) -> None:
        path = Path(error.filename)
        unlisted.append((path, fault_of(path, error)))

    for parent, folders, files in os.walk(folder, onerror=note):
        if not hidden:
            folders[:] = [name for name in folders if not name.startswith(".")]  # where os.walk goes on
        names = (name for name in (*folders, *files) if hidden or not name.startswith("."))
        found += [Path(parent, name) for name in names if wanted(name)]
    return Below(tuple(sorted(found)), tuple(sorted(unlisted)))

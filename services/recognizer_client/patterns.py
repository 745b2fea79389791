"""Patterns of file names (*, ?, [a-z], ** for folders at any depth) that no shell has expanded."""

import glob
import os
import re
from collections.abc import Iterable
from itertools import takewhile
from pathlib import Path

from services.recognizer_client.outputs import recordings_below

__all__ = ["expanded"]


def expanded(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return paths, and in place of a pattern what it matches, sorted.

    As in a shell, a pattern that matches nothing stays, ** follows no link, and is * within a name, and hidden files
    match none that does not begin with their dot; a file that has the pattern as its name is itself. A folder matches
    if it has recordings.
    """
    return tuple(found for path in paths for found in _matches(path) or [path])


def _matches(path: Path) -> list[Path]:
    if not glob.has_magic(str(path)) or os.path.lexists(path):
        return []
    literal = list(takewhile(lambda part: not glob.has_magic(part), path.parts))
    base, pattern = Path(*literal), [_single_stars(part) for part in path.parts[len(literal) :]]
    hidden = any(part.startswith(".") for part in pattern)
    return sorted(
        found
        for found in set(base.glob("/".join(pattern)))
        if hidden or not any(part.startswith(".") for part in found.relative_to(base).parts)
        if not os.path.isdir(found) or any(recordings_below(found))
    )


def _single_stars(part: str) -> str:
    """Return a name's pattern without the ** that pathlib refuses beside other characters."""
    return part if part == "**" else re.sub(r"\*+", "*", part)

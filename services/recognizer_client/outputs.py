"""Which recordings to transcribe, and where each one's transcript goes."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sonorant.errors import BadAudio
from sonorant.file_names import files_below, shown

__all__ = ["Task", "plan"]

_SUFFIXES = frozenset(
    {".aif", ".aiff", ".au", ".caf", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".sph", ".w64", ".wav"}
)


class Task(NamedTuple):
    """A recording, and the file for its transcript; None: it is printed."""

    recording: Path
    output: Path | None


def plan(paths: Sequence[Path], output: Path | None, suffix: str) -> list[Task]:
    """Return a task for each file, and for each recording below a folder, sorted by name.

    A folder that has none, or may not be listed, is a task itself, which fails. output: folder of transcripts, in
    subfolders as the recordings are. Raises BadAudio of two recordings with one output.
    """
    tasks = [Task(path, _output(output, name, suffix)) for path, name in _recordings(paths)]
    recordings: dict[Path, Path] = {}
    for recording, target in tasks:
        if target is not None and recordings.setdefault(target, recording) != recording:
            raise BadAudio(
                shown(recording), f"its output {shown(target)} is that of {shown(recordings[target])}; rename one"
            )
    return tasks


def _recordings(paths: Sequence[Path]) -> list[tuple[Path, Path]]:
    """Return recordings, and each one's name in the output."""
    found: list[tuple[Path, Path]] = []
    for path in paths:
        files, unlisted = files_below(path, _is_recording) if path.is_dir() else ((), ())
        found += [(file, file.relative_to(path)) for file in files] or [(path, Path(path.name))]
        found += [(folder, folder.relative_to(path)) for folder, _ in unlisted if folder != path]
    return found


def _is_recording(name: str) -> bool:
    return Path(name).suffix.lower() in _SUFFIXES


def _output(folder: Path | None, name: Path, suffix: str) -> Path | None:
    return None if folder is None else folder / name.with_suffix(suffix)

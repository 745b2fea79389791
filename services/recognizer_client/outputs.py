"""Which recordings to transcribe, and where each one's transcript goes."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sonorant.errors import BadAudio
from sonorant.file_names import files_below, shown

__all__ = ["Output", "outputs_of"]

_SUFFIXES = frozenset(
    {".aif", ".aiff", ".au", ".caf", ".flac", ".mp3", ".oga", ".ogg", ".opus", ".sph", ".w64", ".wav", ".webm"}
)


class Output(NamedTuple):
    """Where the transcript of a recording goes.

    id: the recording's name without suffix, below the folder that was named. path: the file; None: it is printed.
    """

    recording: Path
    id: str
    path: Path | None


def outputs_of(paths: Sequence[Path], folder: Path | None, suffix: str) -> list[Output]:
    """Return the output of each file, and of each recording below a folder, sorted by name.

    A folder that has none, or may not be listed, has one itself, which fails. folder: of transcripts, in subfolders as
    the recordings are. Raises BadAudio of two recordings with one output.
    """
    outputs = [
        Output(path, name.with_suffix("").as_posix(), folder and folder / name.with_suffix(suffix))
        for path, name in _recordings(paths)
    ]
    recordings: dict[Path, Path] = {}
    for recording, _, target in outputs:
        if target is not None and recordings.setdefault(target, recording) != recording:
            raise BadAudio(
                shown(recording), f"its output {shown(target)} is that of {shown(recordings[target])}; rename one"
            )
    return outputs


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

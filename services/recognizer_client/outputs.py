"""Which recordings to transcribe, and where each one's transcript goes."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from sonorant.file_names import Below, files_below, shown
from sonorant.recording_names import is_recording

__all__ = ["Output", "left_out", "outputs_of", "recordings_below"]

_LONGEST = 255  # bytes of a file's name
_Named: TypeAlias = tuple[Path, Path]  # a recording, and its name below the folder that was named


class Output(NamedTuple):
    """Where the transcript of a recording goes.

    id: the recording's name without suffix, below the folder that was named; with it, if another has the same without.
    path: the file; None: it is printed. fault: why it can have none, in words.
    """

    recording: Path
    id: str
    path: Path | None
    fault: str = ""


def outputs_of(paths: Sequence[Path], folder: Path | None, suffix: str) -> list[Output]:
    """Return the output of each file, and of each recording below a folder, sorted by name.

    A folder that has none, or may not be listed, has one itself, which fails. folder: of transcripts, in subfolders as
    the recordings are. Recordings of one name in several folders that were named have one output: the first one's.
    """
    found = _recordings(paths)
    ids = _ids(dict.fromkeys(found))
    owners: dict[str, Path] = {}
    outputs = []
    for named in found:
        recording, id = named[0], ids[named]
        path, owner = folder and folder / f"{id}{suffix}", owners.setdefault(id, recording)
        outputs.append(Output(recording, id, path, _fault(path, recording, owner) if path else ""))
    return outputs


def left_out(paths: Iterable[Path], outputs: Iterable[Output]) -> Counter[str]:
    """Return how many files of each suffix below folders are no recordings by their names, nor outputs, nor hidden."""
    written = {output.path for output in outputs}
    others = {
        file for path in paths if os.path.isdir(path) for file in files_below(path, _is_other, hidden=False).paths
    }
    return Counter(file.suffix.lower() for file in sorted(others - written) if not os.path.isdir(file))


def recordings_below(folder: Path) -> Below:
    """Return the files below a folder that are recordings by their names, and the folders that may not be listed.

    Hidden files and folders below it are neither.
    """
    found = files_below(folder, is_recording, hidden=False)
    return found._replace(paths=tuple(path for path in found.paths if not os.path.isdir(path)))


def _fault(path: Path, recording: Path, owner: Path) -> str:
    """Return why a recording can have no output at `path`, whose first recording is `owner`; empty: it can."""
    if owner != recording:
        return f"its output {shown(path)} is that of {shown(owner)}; rename one"
    if len(os.fsencode(path.name)) > _LONGEST:
        return f"its output {shown(path)} has a longer name than file systems take; rename it"
    return ""


def _ids(recordings: Iterable[_Named]) -> dict[_Named, str]:
    """Return each recording's name without suffix; where several have the same, theirs with it."""
    full = {named: named[1].as_posix() for named in recordings}
    ids = {named: name.removesuffix(named[1].suffix) for named, name in full.items()}
    while True:
        counts = Counter(ids.values())
        longer = {named: full[named] for named, id in ids.items() if counts[id] > 1 and id != full[named]}
        if not longer:
            return ids
        ids |= longer


def _recordings(paths: Sequence[Path]) -> list[_Named]:
    found: list[_Named] = []
    for path in paths:
        files, unlisted = recordings_below(path) if os.path.isdir(path) else ((), ())
        found += [(file, file.relative_to(path)) for file in files] or [(path, Path(path.name))]
        found += [(folder, folder.relative_to(path)) for folder, _ in unlisted if folder != path]
    return found


def _is_other(name: str) -> bool:
    return not is_recording(name)

"""Lhotse manifests: `*recordings*.jsonl` and `*supervisions*.jsonl` of a folder, plain or with gzip (`.jsonl.gz`).

Fields: lhotse's `Recording`, `AudioSource` and `SupervisionSegment` (lhotse.readthedocs.io, "Representing a corpus").
As in lhotse, a relative path of a source starts at the current folder of the command, not at the manifests' folder.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sonorant.corpus.readers.json_fields import audio_path, name, object_of, seconds, shortened, string
from sonorant.corpus.readers.text_lines import Line, text_lines
from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance
from sonorant.errors import BadCorpus
from sonorant.file_names import files_below, path_fault, shown

__all__ = ["read_lhotse"]

_SUFFIXES = (".jsonl", ".jsonl.gz")


class _Source(NamedTuple):
    """A file with some channels of a recording, in the file's order."""

    path: Path
    channels: tuple[int, ...]


def read_lhotse(folder: Path) -> Listing:
    """List the supervisions of all manifests in `folder` and below, joined to the recordings of all of them.

    Skipped are supervisions without text or whose file is missing. Faults are lines that cannot be used: such as
    sources of a type other than `file`, and recordings with `transforms`, as what they stand for is no file; of what a
    refused recording holds, only that recording is named. Raises BadCorpus if a manifest of either kind is missing.
    """
    skipped: list[Skipped] = []
    faults: list[Skipped] = []
    recordings = _recordings(folder, faults)
    utterances: list[Utterance] = []
    seen: dict[str, Line] = {}
    for line in _lines(folder, "supervisions"):
        try:
            entry = _entry(line, "id, recording_id, start, duration and text")
            if (first := seen.setdefault(key := _key(entry, "id"), line)) is not line:
                raise ValueError(f"supervision {key} is already in {shown(first.path)}:{first.number}")
            recording = _key(entry, "recording_id")
            if recording in recordings and not recordings[recording]:
                continue
            found = _utterance(entry, recordings.get(recording, ()))
        except ValueError as error:
            faults.append(line.left_out(str(error)))
            continue
        if not found.text.strip():
            skipped.append(line.left_out(f"supervision {found.id} has no text"))
        elif fault := path_fault(path := found.segments[0].path):
            hint = "" if path.is_absolute() else "; as in lhotse, relative paths start at the current folder"
            skipped.append(line.left_out(f"supervision {found.id}: {shown(path)}: {fault}{hint}"))
        else:
            utterances.append(replace(found, line=line.position))
    return Listing(tuple(utterances), tuple(skipped), tuple(faults))


def _recordings(folder: Path, faults: list[Skipped]) -> dict[str, tuple[_Source, ...]]:
    """Return id → sources of all recordings; none for one that is refused."""
    recordings: dict[str, tuple[_Source, ...]] = {}
    for line in _lines(folder, "recordings"):
        try:
            entry = _entry(line, "id and sources")
            if (key := _key(entry, "id")) in recordings:
                raise ValueError(f"recording {key} comes a second time")
            recordings[key] = ()
            recordings[key] = _sources(key, entry)
        except ValueError as error:
            faults.append(line.left_out(str(error)))
    return recordings


def _lines(folder: Path, kind: str) -> Iterator[Line]:
    """Yield the lines of all manifests of a kind; raises BadCorpus if there is none."""
    if not folder.is_dir():
        raise BadCorpus(f"{shown(folder)}: is no folder; expected one with lhotse's manifests")
    paths, unlisted = files_below(folder, lambda file: kind in file and file.endswith(_SUFFIXES))
    if unlisted or not paths:
        reason = unlisted[0][1] if unlisted else f"has no *{kind}*.jsonl or *{kind}*.jsonl.gz"
        raise BadCorpus(f"{shown(unlisted[0][0] if unlisted else folder)}: {reason}; expected lhotse's manifests")
    for path in paths:
        yield from (line for line in text_lines(path) if line.fault or line.text.strip())


def _entry(line: Line, expected: str) -> dict[str, Any]:
    if line.fault:
        raise ValueError(line.fault)
    return object_of(line.text, expected)


def _key(entry: dict[str, Any], key: str) -> str:
    if not (value := name(entry, key)):
        raise ValueError(f"{key} is missing")
    return value


def _sources(key: str, entry: dict[str, Any]) -> tuple[_Source, ...]:
    if entry.get("transforms"):
        raise ValueError(f"recording {key}: has transforms, {shortened(entry['transforms'])}; save its audio first")
    sources = entry.get("sources")
    if not isinstance(sources, list) or not sources:
        raise ValueError(f"recording {key}: sources={shortened(sources)}: must be a list of at least one source")
    return tuple(_source(key, source) for source in sources)


def _source(key: str, source: Any) -> _Source:
    if not isinstance(source, dict):
        raise ValueError(f"recording {key}: found source {shortened(source)}, expected an object with type and source")
    if (kind := string(source, "type")) != "file":
        raise ValueError(f"recording {key}: its source is of type {shortened(kind)}; only files are read")
    channels = source.get("channels")
    if not isinstance(channels, list) or not channels or not all(_is_channel(channel) for channel in channels):
        raise ValueError(f"recording {key}: channels={shortened(channels)}: must be a list of numbers from 0")
    return _Source(audio_path("source", string(source, "source"), Path()), tuple(channels))


def _is_channel(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _utterance(entry: dict[str, Any], sources: tuple[_Source, ...]) -> Utterance:
    key, recording = _key(entry, "id"), _key(entry, "recording_id")
    if not sources:
        raise ValueError(f"supervision {key} is of recording {shortened(recording)}, which no manifest has")
    start_s, duration_s = seconds(entry, "start"), seconds(entry, "duration")
    if start_s < 0 or duration_s <= 0:
        raise ValueError(f"supervision {key}: start={start_s}, duration={duration_s}: expected >= 0 and > 0 seconds")
    channels = 0 if entry.get("channel") is None else entry["channel"]
    path, channel = _file_of(key, channels, sources)
    text = string(entry, "text") if entry.get("text") is not None else ""
    return Utterance(key, (Segment(path, start_s, duration_s, channel),), text, name(entry, "speaker"))


def _file_of(key: str, value: Any, sources: tuple[_Source, ...]) -> tuple[Path, int | None]:
    """Return the file with a supervision's channel, and the channel's number in the file.

    It is None for a supervision of all channels of a file: then the recipe says which.
    """
    wanted = tuple(value) if isinstance(value, list) else (value,)
    if not wanted or not all(_is_channel(channel) for channel in wanted):
        raise ValueError(f"supervision {key}: channel={shortened(value)}: must be a number from 0, or a list of them")
    for source in sources:
        if len(wanted) == 1 and wanted[0] in source.channels:
            return source.path, source.channels.index(wanted[0])
        if sorted(wanted) == sorted(source.channels):
            return source.path, None
    has = [channel for source in sources for channel in source.channels]
    raise ValueError(f"supervision {key}: channel={shortened(value)}: its recording has {has}; give one of them")

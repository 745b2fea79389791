"""Kaldi data folders: `wav.scp`, `text`, and if they are there `utt2spk` and `segments`.

Format: Kaldi's documentation, "Data preparation", section "Files you need to create yourself"; `segments` as its
extract-segments takes it, which cuts a segment that ends less than 0.5 s behind its recording. As in Kaldi, a relative
path in `wav.scp` starts at the current folder of the command, not at the data folder. Of Kaldi's extended file names
only plain files are read: a pipe is a command for a shell, and a corpus must not bring commands.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from sonorant.corpus.readers.json_fields import LONGEST_S, audio_path
from sonorant.corpus.readers.text_lines import Line, text_lines
from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance
from sonorant.file_names import path_fault, shown

__all__ = ["read_kaldi"]

_ARCHIVE = re.compile(r".*:\d+(\[.*\])?")
_TO_THE_END = -1.0  # as the end of a segment
_OVERSHOOT_S = 0.5  # by which a segment may end beyond its recording: extract-segments' --max-overshoot


class _Row(NamedTuple):
    """A line of a table, and what stands behind its key."""

    line: Line
    value: str


class _Piece(NamedTuple):
    """An utterance's stretch of a recording, and the line that says so."""

    line: Line
    segment: Segment


def read_kaldi(folder: Path) -> Listing:
    """List the utterances of `text`: pieces of recordings by `segments`, or without that file whole recordings.

    Without `utt2spk` speakers are unknown. Skipped are recordings that are missing, and utterances without a
    transcript. Faults are lines that are no text, repeat a key, lack a field or name what its table does not have, and
    pipes, archives and standard input in `wav.scp`; of what a refused recording holds, only that recording is named.
    Raises BadCorpus if `wav.scp` or `text` is missing.
    """
    skipped: list[Skipped] = []
    faults: list[Skipped] = []
    pieces, refused = _recordings(_table(folder / "wav.scp", faults), skipped, faults)
    source = folder / "wav.scp"
    transcripts = _table(folder / "text", faults)
    if os.path.lexists(folder / "segments"):
        source = folder / "segments"
        pieces, refused = _segments(_table(source, faults), pieces, refused, faults)
    speakers = _table(folder / "utt2spk", faults) if os.path.lexists(folder / "utt2spk") else None
    utterances: list[Utterance] = []
    for key, piece in pieces.items():
        row = transcripts.get(key)
        if row is None or not row.value:
            skipped.append(piece.line.left_out(f"{key} has no transcript in {shown(folder / 'text')}"))
        elif speakers is not None and (key not in speakers or not speakers[key].value):
            faults.append(piece.line.left_out(f"{key} has no speaker in {shown(folder / 'utt2spk')}"))
        elif speakers is not None and len(names := speakers[key].value.split()) > 1:
            faults.append(speakers[key].line.left_out(f"{key} has {len(names)} speakers; expected one, without spaces"))
        else:
            speaker, position = speakers[key].value if speakers else "", piece.line.position
            utterances.append(Utterance(key, (piece.segment,), row.value, speaker, line=position))
    for key, row in transcripts.items():
        if key not in pieces and key not in refused:
            faults.append(row.line.left_out(f"{key} has no line in {shown(source)}"))
    return Listing(tuple(utterances), tuple(skipped), tuple(faults))


def _table(path: Path, faults: list[Skipped]) -> dict[str, _Row]:
    """Return key → row of a file of Kaldi's; of a key that comes twice, the first line counts."""
    rows: dict[str, _Row] = {}
    for line in text_lines(path):
        if line.fault:
            faults.append(line.left_out(line.fault))
        elif words := line.text.split(maxsplit=1):
            row = rows.setdefault(words[0], _Row(line, words[1].strip() if len(words) > 1 else ""))
            if row.line.number != line.number:
                faults.append(line.left_out(f"{words[0]} is already in line {row.line.number}"))
    return rows


def _recordings(
    rows: dict[str, _Row], skipped: list[Skipped], faults: list[Skipped]
) -> tuple[dict[str, _Piece], set[str]]:
    """Return the recordings that are there, and the keys of all others."""
    pieces: dict[str, _Piece] = {}
    for key, row in rows.items():
        try:
            path = _plain_file(row.value)
        except ValueError as error:
            faults.append(row.line.left_out(f"{key} {error}"))
            continue
        if fault := path_fault(path):
            hint = "" if path.is_absolute() else "; as in Kaldi, relative paths start at the current folder"
            skipped.append(row.line.left_out(f"{shown(path)}: {fault}{hint}"))
        else:
            pieces[key] = _Piece(row.line, Segment(path))
    return pieces, rows.keys() - pieces.keys()


def _segments(
    rows: dict[str, _Row], recordings: dict[str, _Piece], refused: set[str], faults: list[Skipped]
) -> tuple[dict[str, _Piece], set[str]]:
    """Return the utterances whose recordings are there, and the keys of all others."""
    pieces: dict[str, _Piece] = {}
    for key, row in rows.items():
        fields = row.value.split()
        if fields and fields[0] in refused:
            continue
        try:
            pieces[key] = _Piece(row.line, _segment(fields, recordings))
        except ValueError as error:
            faults.append(row.line.left_out(f"{key} {error}"))
    return pieces, rows.keys() - pieces.keys()


def _plain_file(value: str) -> Path:
    """Return the path of an extended file name; raises ValueError if it is none."""
    if not value:
        raise ValueError("has no path")
    if value.endswith("|") or value.startswith("|"):
        raise ValueError(
            f"is a pipe, {value[:60]!r}: a corpus must not bring commands for a shell; run it once, and give the file"
        )
    if value == "-" or _ARCHIVE.fullmatch(value):
        what = "standard input" if value == "-" else f"part of an archive, {value[:60]!r}"
        raise ValueError(f"is {what}; expected the path of a recording")
    return audio_path("path", value, Path())


def _segment(fields: list[str], recordings: dict[str, _Piece]) -> Segment:
    """Return the segment of recording, start, end and, if there is one, channel; raises ValueError."""
    if len(fields) not in (3, 4):
        raise ValueError(f"has {len(fields)} field(s); expected recording, start, end and perhaps a channel")
    name, *times = fields[:3]
    if name not in recordings:
        raise ValueError(f"is of recording {name}, which wav.scp does not have")
    try:
        start_s, end_s = map(float, times)
        channel = int(fields[3]) if len(fields) == 4 else None
    except ValueError as error:
        raise ValueError(f"has {' '.join(fields[1:])!r}; expected start and end in seconds, and a channel") from error
    if not 0 <= start_s <= LONGEST_S or not (start_s < end_s <= LONGEST_S or end_s == _TO_THE_END):
        raise ValueError(f"goes from {start_s} to {end_s} s; expected 0 <= start < end, or -1 for the recording's end")
    if channel is not None and channel < 0:
        raise ValueError(f"has channel {channel}; the first is 0")
    path = recordings[name].segment.path
    if end_s == _TO_THE_END:
        return Segment(path, start_s, None, channel)
    return Segment(path, start_s, end_s - start_s, channel, _OVERSHOOT_S)

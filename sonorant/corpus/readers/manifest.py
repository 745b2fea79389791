"""JSON-lines manifests with NeMo's keys: `audio_filepath`, `duration`, `text`, optional `speaker`, `offset`, `id`."""

import json
import math
from pathlib import Path
from typing import Any

from sonorant.corpus.utterance import Listing, Segment, Utterance
from sonorant.errors import BadCorpus

__all__ = ["read_manifest"]

_MOST_FAULTS = 20


def read_manifest(path: Path) -> Listing:
    """List the utterances of a manifest; `audio_filepath` is relative to the manifest's folder, other keys are ignored.

    Without an `id` it is the path without suffix, with the offset if one is given. Raises BadCorpus that lists the
    lines at fault, and for ids that stand twice both lines.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (UnicodeDecodeError, OSError) as error:
        raise BadCorpus(f"{path}: cannot be read as UTF-8 text: {error}; expected one JSON object a line") from error
    utterances: list[Utterance] = []
    faults: list[str] = []
    line_of: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            utterance = _utterance(line, path.parent)
        except ValueError as error:
            faults.append(f"{path}:{number}: {error}")
            continue
        if utterance.id in line_of:
            faults.append(f"{path}:{number}: id {utterance.id!r} is already used in line {line_of[utterance.id]}")
        line_of.setdefault(utterance.id, number)
        utterances.append(utterance)
    if faults:
        more = [f"… and {len(faults) - _MOST_FAULTS} more lines"] if len(faults) > _MOST_FAULTS else []
        raise BadCorpus("\n".join(faults[:_MOST_FAULTS] + more))
    return Listing(tuple(utterances))


def _utterance(line: str, folder: Path) -> Utterance:
    try:
        entry = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error.msg}, column {error.colno}") from error
    if not isinstance(entry, dict):
        raise ValueError(f"found {line[:40]!r}, expected an object with audio_filepath, duration and text")
    audio = _string(entry, "audio_filepath")
    duration_s = _number(entry, "duration")
    if duration_s <= 0:
        raise ValueError(f"duration={duration_s}: must be above 0 seconds")
    offset_s = _number(entry, "offset") if "offset" in entry else None
    if offset_s is not None and offset_s < 0:
        raise ValueError(f"offset={offset_s}: must be 0 seconds or more")
    stem = Path(audio).with_suffix("").as_posix()
    key = str(entry.get("id") or (stem if offset_s is None else f"{stem}@{offset_s:g}"))
    segment = Segment(folder / audio, offset_s or 0.0, duration_s)
    return Utterance(key, (segment,), _string(entry, "text"), str(entry.get("speaker") or ""))


def _string(entry: dict[str, Any], key: str) -> str:
    if key not in entry:
        raise ValueError(f"{key} is missing")
    if not isinstance(entry[key], str) or (key == "audio_filepath" and not entry[key]):
        raise ValueError(f"{key}={entry[key]!r}: must be a string")
    return str(entry[key])


def _number(entry: dict[str, Any], key: str) -> float:
    if key not in entry:
        raise ValueError(f"{key} is missing")
    value = entry[key]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{key}={value!r}: must be a number of seconds")
    return float(value)

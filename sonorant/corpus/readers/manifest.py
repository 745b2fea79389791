"""JSON-lines manifests with NeMo's keys: `audio_filepath`, `duration`, `text`, optional `speaker`, `offset`, `id`."""

import json
import math
import os
import reprlib
from pathlib import Path
from typing import Any

from sonorant.corpus.readers.text_lines import text_lines
from sonorant.corpus.utterance import Listing, Segment, Skipped, Utterance
from sonorant.file_names import is_text

__all__ = ["read_manifest"]

_LONGEST_S = 1e7  # four months; what is beyond it is no time, and overflows when it is counted in samples
_LONGEST_NAME_BYTES = 255  # of a folder or file, and of a whole path: Linux' limits
_LONGEST_PATH_BYTES = 4095

_show = reprlib.Repr()
_show.maxstring = _show.maxother = _show.maxlong = 60


def read_manifest(path: Path) -> Listing:
    """List the utterances of a manifest; `audio_filepath` is relative to the manifest's folder, other keys are ignored.

    null is as good as absent. Without an `id` it is the path without suffix, with the offset if one is given. Lines
    that cannot be used are the listing's faults, and so are those whose id an earlier line has.
    Raises BadCorpus if there is no such file, Unavailable if it cannot be read.
    """
    utterances: list[Utterance] = []
    faults: list[Skipped] = []
    line_of: dict[str, int] = {}
    for line in text_lines(path):
        if line.fault:
            faults.append(line.left_out(line.fault))
            continue
        if not line.text.strip():
            continue
        try:
            utterance = _utterance(line.text, path.parent)
        except ValueError as error:
            faults.append(line.left_out(str(error)))
            continue
        if (first := line_of.setdefault(utterance.id, line.number)) != line.number:
            faults.append(line.left_out(f"id {_show.repr(utterance.id)} is already used in line {first}"))
        else:
            utterances.append(utterance)
    return Listing(tuple(utterances), faults=tuple(faults))


def _utterance(line: str, folder: Path) -> Utterance:
    entry = _parse(line)
    if not isinstance(entry, dict):
        raise ValueError(f"found {line[:40]!r}, expected an object with audio_filepath, duration and text")
    audio = _path(entry, folder)
    duration_s = _seconds(entry, "duration")
    if duration_s <= 0:
        raise ValueError(f"duration={duration_s}: must be above 0 seconds")
    offset_s = _seconds(entry, "offset") if entry.get("offset") is not None else None
    if offset_s is not None and offset_s < 0:
        raise ValueError(f"offset={offset_s}: must be 0 seconds or more")
    stem = Path(audio).with_suffix("").as_posix()
    key = _name(entry, "id") or (stem if offset_s is None else f"{stem}@{offset_s:.15g}")
    segment = Segment(folder / audio, offset_s or 0.0, duration_s)
    return Utterance(key, (segment,), _string(entry, "text"), _name(entry, "speaker"))


def _parse(line: str) -> Any:
    try:
        return json.loads(line, object_pairs_hook=_each_once)
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error.msg}, column {error.colno}") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply; expected a flat object") from error
    except ValueError as error:  # an integer of more digits than Python reads
        raise ValueError(f"is not JSON that can be read: {error}") from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for key, value in pairs:
        if key in entry:  # RFC 8259 leaves open which one counts
            raise ValueError(f"key {_show.repr(key)} comes twice")
        entry[key] = value
    return entry


def _path(entry: dict[str, Any], folder: Path) -> str:
    audio = _string(entry, "audio_filepath")
    if not Path(audio).name or "\0" in audio:
        raise ValueError(f"audio_filepath={_show.repr(audio)}: must be the path of a recording")
    whole = os.fsencode(folder / audio)
    if len(whole) > _LONGEST_PATH_BYTES or any(len(name) > _LONGEST_NAME_BYTES for name in whole.split(b"/")):
        raise ValueError(
            f"audio_filepath={_show.repr(audio)}: has {len(whole)} bytes; a path has {_LONGEST_PATH_BYTES} at most, "
            f"and a name in it {_LONGEST_NAME_BYTES}"
        )
    return audio


def _string(entry: dict[str, Any], key: str) -> str:
    value = entry.get(key)
    if value is None:
        raise ValueError(f"{key} is missing")
    if not isinstance(value, str):
        raise ValueError(f"{key}={_show.repr(value)}: must be a string")
    return _text(key, value)


def _name(entry: dict[str, Any], key: str) -> str:
    """Return a name, of which many corpora have numbers; empty if there is none."""
    value = entry.get(key)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{key}={_show.repr(value)}: must be a string or a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{key}={value!r}: must be a string or a finite number")
    return _text(key, str(value))


def _text(key: str, value: str) -> str:
    if not is_text(value):
        raise ValueError(f"{key}={_show.repr(value)}: holds a lone surrogate; must be text that UTF-8 can hold")
    return value


def _seconds(entry: dict[str, Any], key: str) -> float:
    value = entry.get(key)
    if value is None:
        raise ValueError(f"{key} is missing")
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise ValueError(f"{key}={_show.repr(value)}: must be a number of seconds")
    if abs(value) > _LONGEST_S:  # compared before it is converted: an integer may be beyond any float
        raise ValueError(f"{key}={_show.repr(value)}: must be a number of seconds, at most {_LONGEST_S:g}")
    return float(value)

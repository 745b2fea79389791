"""Fields of a line of JSON that a corpus brings; what is wrong with one is said with its name and value."""

import json
import math
import os
import reprlib
from pathlib import Path
from typing import Any

from sonorant.file_names import is_text

__all__ = ["LONGEST_S", "audio_path", "name", "object_of", "seconds", "shortened", "string"]

LONGEST_S = 1e7  # four months; what is beyond it is no time, and overflows when it is counted in samples
_LONGEST_NAME_BYTES = 255  # of a folder or file, and of a whole path: Linux' limits
_LONGEST_PATH_BYTES = 4095

_show = reprlib.Repr()
_show.maxstring = _show.maxother = _show.maxlong = 60


def shortened(value: object) -> str:
    """Return a value as an error shows it."""
    return _show.repr(value)


def object_of(line: str, expected: str) -> dict[str, Any]:
    """Parse a line that is one object, no key twice; raises ValueError, which says what of it was `expected`."""
    entry = _parse(line)
    if not isinstance(entry, dict):
        raise ValueError(f"found {line[:40]!r}, expected an object with {expected}")
    return entry


def string(entry: dict[str, Any], key: str) -> str:
    """Return a string that must be there; raises ValueError."""
    value = entry.get(key)
    if value is None:
        raise ValueError(f"{key} is missing")
    if not isinstance(value, str):
        raise ValueError(f"{key}={shortened(value)}: must be a string")
    return _text(key, value)


def name(entry: dict[str, Any], key: str) -> str:
    """Return a name, of which many corpora have numbers; empty if there is none. Raises ValueError."""
    value = entry.get(key)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{key}={shortened(value)}: must be a string or a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{key}={value!r}: must be a string or a finite number")
    return _text(key, str(value))


def seconds(entry: dict[str, Any], key: str) -> float:
    """Return a time that must be there, and that samples can be counted of; raises ValueError."""
    value = entry.get(key)
    if value is None:
        raise ValueError(f"{key} is missing")
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise ValueError(f"{key}={shortened(value)}: must be a number of seconds")
    if abs(value) > LONGEST_S:  # compared before it is converted: an integer may be beyond any float
        raise ValueError(f"{key}={shortened(value)}: must be a number of seconds, at most {LONGEST_S:g}")
    return float(value)


def audio_path(key: str, value: str, folder: Path) -> Path:
    """Return the path of a recording, relative to `folder`; raises ValueError for what no file can be named."""
    if not Path(value).name or "\0" in value:
        raise ValueError(f"{key}={shortened(value)}: must be the path of a recording")
    whole = os.fsencode(folder / value)
    if len(whole) > _LONGEST_PATH_BYTES or any(len(part) > _LONGEST_NAME_BYTES for part in whole.split(b"/")):
        raise ValueError(
            f"{key}={shortened(value)}: has {len(whole)} bytes; a path has {_LONGEST_PATH_BYTES} at most, "
            f"and a name in it {_LONGEST_NAME_BYTES}"
        )
    return folder / value


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
            raise ValueError(f"key {shortened(key)} comes twice")
        entry[key] = value
    return entry


def _text(key: str, value: str) -> str:
    if not is_text(value):
        raise ValueError(f"{key}={shortened(value)}: holds a lone surrogate; must be text that UTF-8 can hold")
    return value

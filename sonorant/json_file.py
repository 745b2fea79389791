"""JSON files that a run's commands leave for one another."""

import json
from pathlib import Path
from typing import Any

from sonorant.errors import BadRun
from sonorant.file_names import fault_of, shown

__all__ = ["read_object"]


def read_object(path: Path, advice: str) -> dict[str, Any]:
    """Return the object in a file; raises BadRun, with the path and `advice`, if there is none in it.

    Raises Unavailable if the file system fails.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadRun(f"{shown(path)}: {fault_of(path, error)}; {advice}") from error
    except (ValueError, RecursionError) as error:
        raise BadRun(f"{shown(path)}: damaged: {error}; {advice}") from error
    if not isinstance(found, dict):
        raise BadRun(f"{shown(path)}: damaged: found {type(found).__name__}, expected an object; {advice}")
    return found

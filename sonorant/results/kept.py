"""What is kept of the report of a row's run: its figures, without paths, in a file of a few lines."""

import json
from pathlib import Path
from typing import Any

from sonorant.atomic import atomic_write
from sonorant.errors import BadRun
from sonorant.json_file import read_object
from sonorant.results.systems import Row

__all__ = ["KeptReport", "keep", "read_kept"]

KeptReport = dict[str, Any]  # digest, recipe, settings: of the row; else as of `report.json`

_KEPT = (
    "wer", "errors", "train_seconds", "t_session", "stopped_because", "steps", "epochs", "audio_hours",
    "audio_hours_per_second", "parameters", "system", "ledger",
)  # fmt: skip
_OF_CORPUS = ("source",)


def keep(row: Row, report: Path, folder: Path) -> Path:
    """Write what is kept of a run's `report.json` into `folder`, by the row's name; return its path.

    Raises BadRun if the report lacks a figure that results show.
    """
    figures = read_object(report, "run `sonorant report` again")
    if missing := [key for key in _KEPT if figures.get(key) is None]:
        raise BadRun(f"{report}: has no {missing[0]}; the run is of an earlier version: train again")
    kept: KeptReport = {"digest": row.digest, "recipe": row.recipe, "settings": list(row.settings)}
    kept |= {key: _rounded(figures[key]) for key in _KEPT}
    kept["corpus"] = {key: figures["corpus"][key] for key in _OF_CORPUS}
    path = _path(folder, row)
    atomic_write(path, json.dumps(kept, indent=1) + "\n")
    return path


def read_kept(row: Row, folder: Path) -> KeptReport | None:
    """Return what is kept of the row, or of an earlier row of its name; None if there is nothing. Raises BadRun."""
    path = _path(folder, row)
    try:
        kept: KeptReport = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in ("digest", *_KEPT) if key not in kept]
        missing += [key for key in ("wer", "errors", "system") if key in kept and not isinstance(kept[key], dict)]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise BadRun(f"{path}: not a kept report ({error}); remove it, and run the row again") from error
    if missing:
        raise BadRun(f"{path}: has no {missing[0]}; remove it, and run the row again")
    return kept


def _path(folder: Path, row: Row) -> Path:
    return folder / f"{row.name}.json"


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list) else value

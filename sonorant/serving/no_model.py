"""Why a folder of exports has no model to serve, in words for whoever starts a recognizer."""

from collections.abc import Mapping
from pathlib import Path

from sonorant.export.manifest import MANIFEST
from sonorant.run_folder import RunFolder

__all__ = ["why_no_model"]


def why_no_model(exports: Path, refusals: Mapping[Path, str]) -> str:
    """Return the reason, and what to do. refusals: of each version that was tried; raises OSError."""
    if refusals:
        path = next(iter(refusals))
        others = f" ({len(refusals) - 1} more in the log)" if len(refusals) > 1 else ""
        return f"{exports}: no model to serve: {path.parent.name}/{path.name} is refused: {refusals[path]}{others}"
    whole = exports.absolute()  # `.` has no folder above it
    if (exports / MANIFEST).is_file():
        return f"{exports}: no model to serve: is a version itself; expected {whole.parent.parent}"
    if any(exports.glob(f"[0-9]*/{MANIFEST}")):
        return f"{exports}: no model to serve: is the folder of one model; expected {whole.parent}"
    if (run := RunFolder(exports)).exports.is_dir():
        return f"{exports}: no model to serve: is the folder of a run; expected {run.exports}"
    missing = "" if exports.is_dir() else "no such folder; correct it, or "
    return f"{exports}: no model to serve{': ' if missing else '; '}{missing}make one with `sonorant export`"

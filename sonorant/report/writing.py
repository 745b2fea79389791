"""Write a run's report: `report.json` has every figure, `report.html` shows them."""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from sonorant.atomic import atomic_write
from sonorant.errors import BadRun
from sonorant.json_file import read_object
from sonorant.report.comparison import compare
from sonorant.report.summary import summarise
from sonorant.run_folder import RunFolder

__all__ = ["write_report"]


def write_report(
    run: RunFolder,
    data_folder: Path,
    source: str,
    compared: RunFolder | None = None,
    sets: Mapping[str, object] | None = None,
) -> bool:
    """Write the report of a trained and evaluated run, beside that of another run if one is given.

    source: where the recordings come from, in a few words. compared: see `compare`. sets: see `summarise`; of `run`
    alone. Returns False if the report is there and was made of the same files: then nothing is done. Raises BadRun,
    saying what is missing, or which set the two runs were measured on in other ways.
    """
    subject = _fingerprint(run, source, compared, sets)
    if run.report.is_file() and _subject(run) == subject:
        return False
    from sonorant.report.page import render_page  # loads matplotlib, which takes seconds

    figures = summarise(run, source, sets)
    if compared is not None:
        figures["compared"] = compare(run, compared, figures["wer"], source)
    atomic_write(run.report, render_page(run, data_folder, figures))
    atomic_write(run.summary, json.dumps({"subject": subject, **figures}, indent=1) + "\n")
    return True


def _subject(run: RunFolder) -> str:
    """Return what the report that is there was made of; "" for none, or a damaged one."""
    with suppress(BadRun):
        return str(read_object(run.summary, "").get("subject", ""))
    return ""


def _fingerprint(run: RunFolder, source: str, compared: RunFolder | None, sets: Mapping[str, object] | None) -> str:
    """Name what is reported, and the code of this room, which reports it; not that of what it calls."""
    digest = hashlib.sha256(
        f"{source}\n{compared and compared.path.name}\n{json.dumps(sets, sort_keys=True)}\n".encode()
    )
    for reported in (run, compared) if compared else (run,):
        for path in (reported.recipe, reported.shards / "card.json", reported.metrics, reported.evaluation):
            digest.update(hashlib.sha256(path.read_bytes() if path.exists() else b"").digest())
    for path in sorted(Path(__file__).parent.glob("*.*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()

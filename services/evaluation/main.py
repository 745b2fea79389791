"""Measure an exported model: serve it, stream every test set of the recipe, and write the outcomes."""

import asyncio
import hashlib
import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from services.evaluation.streaming import stream_all
from services.evaluation.test_sets import read_references, write_test_set
from services.recognizer.process import running_recognizer
from sonorant.atomic import atomic_write
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder

__all__ = ["evaluate"]


def evaluate(recipe: Recipe, run: RunFolder, data_folder: Path, console: Console) -> None:
    """Stream all test sets to a recognizer of our own and write `RunFolder.evaluation`, unless that is done.

    Raises Unavailable if the recognizer does not start or goes away, BadShard for a test set that cannot be read.
    """
    subject = _fingerprint(recipe, run)
    if run.evaluation.exists() and json.loads(run.evaluation.read_text())["subject"] == subject:
        console.print(f"nothing to do: {run.evaluation} is of this model")
        return
    sets = {chosen.name: write_test_set(recipe, run, data_folder, chosen) for chosen in recipe.evaluation.sets}
    references = {name: read_references(folder) for name, folder in sets.items()}
    outcomes: dict[str, list[dict[str, object]]] = {}
    model = ""
    with (
        running_recognizer(run.exports, run.logs / "recognizer.log") as address,
        Progress(console=console, disable=not console.is_terminal) as progress,
    ):
        for name, wanted in references.items():
            task = progress.add_task(f"{name}: {recipe.evaluation.streams} paced streams", total=len(wanted))
            model, heard = asyncio.run(
                stream_all(address, wanted, recipe.evaluation.streams, partial(progress.advance, task))
            )
            outcomes[name] = [asdict(outcome) for outcome in heard]
    document = {"subject": subject, "model": model, "streams": recipe.evaluation.streams, "sets": outcomes}
    atomic_write(run.evaluation, json.dumps(document, indent=1) + "\n")


def _fingerprint(recipe: Recipe, run: RunFolder) -> str:
    """Return a checksum of what is measured: the exported models' manifests and the test sets."""
    digest = hashlib.sha256(recipe.evaluation.model_dump_json().encode())
    digest.update((run.shards / "card.json").read_bytes())
    for manifest in sorted(run.exports.glob("*/*/manifest.json")):
        digest.update(manifest.read_bytes())
    return digest.hexdigest()

"""Measure an exported model: serve it, stream test sets, and write their outcomes."""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console, RenderableType
from rich.progress import Progress
from rich.text import Text

from services.evaluation.capacity_waits import CapacityWaits
from services.evaluation.streaming import stream_all
from services.evaluation.test_sets import read_references, shards_of, write_test_set
from services.process.run_lock import locked_for_evaluation
from services.recognizer.process import running_recognizer
from sonorant.atomic import atomic_write
from sonorant.export.manifest import MANIFEST
from sonorant.export.versions import newest_versions
from sonorant.recipe.schema import Recipe
from sonorant.recipe.training import EvaluationRecipe, TestSetRecipe
from sonorant.run_folder import RunFolder
from sonorant.serving.labels import LABELS

__all__ = ["evaluate"]

# fingerprint: of the exported models; model: the last that was measured; sets, subjects, definitions, models and
# streams: by the name of a set, its outcomes, a checksum of what was measured, the set's section of the recipe, the
# model, and how many clients streamed at once.
_Document: TypeAlias = dict[str, Any]
_LABELS = f"[!.]*/{LABELS}"
_BY_SET = ("sets", "subjects", "definitions", "models", "streams")


def evaluate(recipe: Recipe, run: RunFolder, data_folder: Path, console: Console) -> None:
    """Stream the recipe's test sets to a recognizer of our own and write `RunFolder.evaluation`, a set at a time.

    Sets that were measured already, with this model and these settings, are not measured again; those of this model
    that the recipe does not name stay. Raises Unavailable if the recognizer does not start or goes away, or another
    process evaluates the run; BadShard for a test set that cannot be read, BadRun for one of a run that is not
    prepared, BadRecipe for a language model's.
    """
    recipe.require_speech("recognize")
    subjects = {one.name: _subject(recipe.evaluation, one, run) for one in recipe.evaluation.sets}
    if _measured_before(run, newest_versions(run.exports))["subjects"].items() >= subjects.items():
        console.print(f"nothing to do: {run.evaluation} is of this model")
        return
    with locked_for_evaluation(run.path):
        _evaluate(recipe.evaluation, subjects, run, data_folder, console)


def _evaluate(
    settings: EvaluationRecipe, subjects: Mapping[str, str], run: RunFolder, data_folder: Path, console: Console
) -> None:
    """Measure what was not measured before the run's evaluation was locked, which it is now."""
    newest = newest_versions(run.exports)
    document = _measured_before(run, newest)
    chosen = {one.name: one for one in settings.sets if document["subjects"].get(one.name) != subjects[one.name]}
    _tell_of_replaced(chosen, document, console)
    folders = {name: write_test_set(run, data_folder, one) for name, one in chosen.items()}
    with (
        running_recognizer(run.exports, run.logs / "recognizer.log") as address,
        _Progress(console) as progress,
    ):
        for name, folder in folders.items():
            _measure(address, folder, settings, document, name, progress)
            document["subjects"][name] = subjects[name]
            document["definitions"][name] = chosen[name].model_dump(mode="json")
            atomic_write(run.evaluation, json.dumps(document, indent=1) + "\n")
            measured = f"{name}: {len(document['sets'][name])} recordings by {document['model']}"
            progress.say(f"{measured}; `sonorant report --run {run.path}` has the error rates")
            served = document["model"]
            if (newer := newest.get(served.partition("/")[0], served)) != served:
                progress.say(f"{newer} is newer: {run.logs / 'recognizer.log'} says why it is not served")


def _tell_of_replaced(chosen: Mapping[str, TestSetRecipe], document: _Document, console: Console) -> None:
    """Tell, before they are gone, of sets that were measured by another definition under the same name."""
    for name, one in chosen.items():
        before = document["definitions"].get(name)
        now = one.model_dump(mode="json")
        if before and (other := [key for key in before | now if before.get(key) != now.get(key)]):
            console.print(
                f"{name}: replaces the set of this name that was measured with another {', '.join(other)}; under "
                "another name both stay",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )


class _Progress(Progress):
    """A bar a set, and below them how long streams wait for capacity; where nobody watches, only that they do."""

    def __init__(self, console: Console) -> None:
        self.say = partial(console.print, markup=False, highlight=False, soft_wrap=True)
        self.waits = CapacityWaits(self.say, time.monotonic)
        super().__init__(console=console, disable=not console.is_terminal)

    def get_renderables(self) -> Iterable[RenderableType]:
        """See `Progress`."""
        yield from super().get_renderables()
        if line := self.waits.line:
            yield Text(line, no_wrap=True, overflow="ellipsis")


def _measure(
    address: str, folder: Path, settings: EvaluationRecipe, document: _Document, name: str, progress: _Progress
) -> None:
    """Stream one set, and enter its outcomes into `document`."""
    references = read_references(folder)
    kind = "paced" if settings.paced else "unpaced"
    task = progress.add_task(f"{name}: {settings.streams} {kind} streams", total=len(references))
    done: Callable[[], None] = partial(progress.advance, task)
    document["model"], outcomes = asyncio.run(
        stream_all(address, references, settings.streams, done, paced=settings.paced, waits=progress.waits)
    )
    document["sets"][name] = [asdict(outcome) for outcome in outcomes]
    document["streams"][name] = settings.streams
    document["models"][name] = document["model"]


def _measured_before(run: RunFolder, newest: Mapping[str, str]) -> _Document:
    """Return what was measured of the exported models as they are; of sets that an older version spoke for, nothing."""
    fingerprint = _fingerprint(run)
    document: _Document = {"fingerprint": fingerprint, "model": "", **{part: {} for part in _BY_SET}}
    try:
        found = json.loads(run.evaluation.read_text(encoding="utf-8"))
        if found["fingerprint"] != fingerprint:
            return document
        measured = [name for name, model in found["models"].items() if not newest or model in newest.values()]
        kept = {part: {name: found[part][name] for name in measured} for part in _BY_SET}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # there is none, or it is damaged
        return document
    return document | {"model": found["model"]} | kept


def _fingerprint(run: RunFolder) -> str:
    """Return a checksum of the exported models' manifests and labels."""
    digest = hashlib.sha256()
    for pattern in (f"[!.]*/[!.]*/{MANIFEST}", _LABELS):
        for path in sorted(run.exports.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _subject(settings: EvaluationRecipe, chosen: TestSetRecipe, run: RunFolder) -> str:
    """Return a checksum of a set's recordings, and of how they are streamed."""
    digest = hashlib.sha256(f"{settings.streams}\n{settings.paced}\n{chosen.model_dump_json()}".encode())
    digest.update((shards_of(run, chosen) / "card.json").read_bytes())
    return digest.hexdigest()

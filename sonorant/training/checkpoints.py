"""Checkpoints: folders that are whole or not there, with everything that training needs to go on mid-epoch.

`step-00000123/` holds arrays.npz, state.json, ledger.bin and manifest.json, the checksums of the other three;
beside the folders, the files `latest` and `best` name one each.
"""

import dataclasses
import hashlib
import io
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sonorant.atomic import atomic_folder, atomic_write
from sonorant.errors import SonorantError
from sonorant.recipe.schema import Recipe

__all__ = ["BadCheckpoint", "Checkpoint", "Checkpoints", "Progress", "check_recipe", "fingerprint", "load_checkpoint"]

Arrays = Mapping[str, NDArray[np.float32]]

_CONTENT = ("arrays.npz", "state.json", "ledger.bin")
_GROUPS = ("weights", "evaluated", "average", "adam")


class BadCheckpoint(SonorantError):
    """A checkpoint that is damaged, or belongs to another recipe."""

    exit_code = 65


@dataclass
class Progress:
    """Where training stands; times in seconds, summed over resumptions.

    batches: batches of the epoch that each rank has trained on; bad_steps: not finite, the latest in a row;
    skipped_steps: all of those; looks_without_better: at dev, in a row; train_s: wall-clock time of the loop;
    session_s, elapsed_s: see `metrics`.
    """

    step: int = 0
    epoch: int = 0
    batches: list[int] = field(default_factory=list)
    examples: int = 0
    audio_s: float = 0.0
    bad_steps: int = 0
    skipped_steps: int = 0
    wer: float | None = None
    best_wer: float | None = None
    looks_without_better: int = 0
    train_s: float = 0.0
    session_s: float = 0.0
    elapsed_s: float = 0.0


@dataclass(frozen=True)
class Checkpoint:
    """Everything to go on from. `evaluated`: the weights to export, the average's if one is kept; by name."""

    progress: Progress
    fingerprint: str
    weights: Arrays
    evaluated: Arrays
    average: Arrays
    adam: Arrays
    ledger: bytes


def fingerprint(recipe: Recipe) -> str:
    """Return a checksum of what may not change between two resumptions: data, features, units and model."""
    fixed = recipe.model_dump_json(include={"seed", "corpus", "text", "stages", "features", "model"})
    return hashlib.sha256(fixed.encode()).hexdigest()


class Checkpoints:
    """The checkpoints of a run; `warn` is told of each that is ignored, and why."""

    def __init__(self, folder: Path, keep: int, warn: Callable[[str], None]) -> None:
        self._folder = folder
        self._keep = keep
        self._warn = warn

    def save(self, checkpoint: Checkpoint, best: bool) -> Path:
        """Write a checkpoint; point `latest` to it, and `best` if told; drop what is more than `keep`."""
        path = self._folder / f"step-{checkpoint.progress.step:08d}"
        content = _encode(checkpoint)
        with atomic_folder(path) as temporary:
            for name, data in content.items():
                (temporary / name).write_bytes(data)
        if best:
            atomic_write(self._folder / "best", path.name)
        atomic_write(self._folder / "latest", path.name)
        self._prune()
        return path

    def latest(self, expected_fingerprint: str) -> Checkpoint | None:
        """Return the newest checkpoint that is whole, or None; raises BadCheckpoint if it is another recipe's."""
        for path in reversed(self._paths()):
            try:
                checkpoint = _decode(path)
            except BadCheckpoint as error:
                self._warn(f"{error}; the one before it is used")
                continue
            if checkpoint.fingerprint != expected_fingerprint:
                raise BadCheckpoint(
                    f"{path}: made with another corpus, text, stages, features, model or seed than the recipe has now; "
                    "train into another run folder, or go back to the old recipe"
                )
            return checkpoint
        return None

    def next_generation(self, above: int) -> int:
        """Return a generation above `above` and all that were ever returned for this folder."""
        path = self._folder / "generation"
        last = int(path.read_text()) if path.exists() else 0
        generation = max(last, above) + 1
        atomic_write(path, str(generation))
        return generation

    def _paths(self) -> list[Path]:
        return sorted(p for p in self._folder.glob("step-*") if p.is_dir())

    def _prune(self) -> None:
        best = _named(self._folder, "best")
        for path in self._paths()[: -self._keep]:
            if path != best:
                shutil.rmtree(path, ignore_errors=True)


def check_recipe(folder: Path, recipe: Recipe) -> None:
    """Raise BadCheckpoint if training with `recipe` cannot go on from the folder's newest checkpoint that is whole."""
    Checkpoints(folder, keep=1, warn=lambda _damaged: None).latest(fingerprint(recipe))


def load_checkpoint(folder: Path, which: str) -> Checkpoint:
    """Return the checkpoint "best" (on dev; the latest if dev was never looked at), "latest", or of a step's number.

    Raises BadCheckpoint if there is none, or if it is damaged.
    """
    if which.isdecimal():
        path: Path | None = folder / f"step-{int(which):08d}"
    else:
        path = _named(folder, which) or _named(folder, "latest")
    if path is None or not path.is_dir():
        steps = ", ".join(str(int(p.name.removeprefix("step-"))) for p in sorted(folder.glob("step-*")))
        raise BadCheckpoint(
            f"{folder}: no checkpoint {which!r} (steps: {steps or 'none'}); train first: sonorant train --recipe RECIPE"
        )
    return _decode(path)


def _named(folder: Path, pointer: str) -> Path | None:
    file = folder / pointer
    return folder / file.read_text().strip() if file.exists() else None


def _encode(checkpoint: Checkpoint) -> dict[str, bytes]:
    arrays = {f"{group}/{name}": a for group in _GROUPS for name, a in getattr(checkpoint, group).items()}
    file = io.BytesIO()
    np.savez(file, **arrays)
    state = {"progress": dataclasses.asdict(checkpoint.progress), "fingerprint": checkpoint.fingerprint}
    content = dict(
        zip(_CONTENT, (file.getvalue(), json.dumps(state, indent=2).encode(), checkpoint.ledger), strict=True)
    )
    checksums = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    return {**content, "manifest.json": json.dumps(checksums, indent=2).encode()}


def _decode(path: Path) -> Checkpoint:
    try:
        checksums = json.loads((path / "manifest.json").read_bytes())
        content = {name: (path / name).read_bytes() for name in _CONTENT}
    except (OSError, ValueError) as error:
        raise BadCheckpoint(f"{path}: incomplete: {error}") from error
    for name, data in content.items():
        if hashlib.sha256(data).hexdigest() != checksums.get(name):
            raise BadCheckpoint(f"{path / name}: its checksum is not the one in manifest.json; the file is damaged")
    state = json.loads(content["state.json"])
    groups: dict[str, dict[str, NDArray[np.float32]]] = {group: {} for group in _GROUPS}
    with np.load(io.BytesIO(content["arrays.npz"]), allow_pickle=False) as arrays:
        for key in arrays.files:
            group, _, name = key.partition("/")
            groups[group][name] = arrays[key]
    return Checkpoint(
        progress=Progress(**state["progress"]),
        fingerprint=state["fingerprint"],
        ledger=content["ledger.bin"],
        weights=groups["weights"],
        evaluated=groups["evaluated"],
        average=groups["average"],
        adam=groups["adam"],
    )

"""Checkpoints: atomic folders with all state to resume training mid-epoch.

`step-00000123/` holds the files of `checkpoint_files`; beside the folders, the files `latest` and `best` name one
each, and `generation` has the number of the gang that trains.

The generation is a fencing token. A save of an older gang's rank 0, partitioned or paused, is refused: before the first
write, and again when all is on the disk, before each rename. A gang that begins writes its generation, then removes all
temporaries, then reads the newest checkpoint. So a rename that the older gang's check had passed before either is done
by then, and the newer gang resumes from that checkpoint, whose ledger snapshot was taken in the older generation and is
complete; or it finds its temporary removed, and fails. Neither `latest` nor `best` goes back, and no gang prunes
checkpoints of a newer one. This holds as far as the volume is consistent: a client that sees writes late, through NFS's
caches say, sees the fence late; its checkpoint sorts before those of newer gangs, and is pruned with their next one,
which sets the pointers again.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from sonorant.atomic import atomic_folder, atomic_write, sweep
from sonorant.delivery.ledger_errors import StaleGeneration
from sonorant.recipe.differences import first_differences
from sonorant.recipe.schema import Recipe
from sonorant.training.checkpoint_files import (
    BadCheckpoint,
    Checkpoint,
    Progress,
    decode,
    encode,
    progress_of,
    read_file,
    read_state,
)
from sonorant.training.identity import Identity, identity

__all__ = [
    "BadCheckpoint",
    "Checkpoint",
    "Checkpoints",
    "Progress",
    "best_first",
    "check_identity",
    "check_recipe",
    "load_checkpoint",
    "with_layers",
]

_POINTERS = ("best", "latest")


class _Saved(NamedTuple):
    """A checkpoint's folder, complete or not; sorted in the order of training."""

    generation: int
    path: Path
    identity: Identity | None


class Checkpoints:
    """The checkpoints of a run; `warn` is called with the reason for each that is ignored.

    keep: the newest ones to keep; keep_best: those of the lowest WER or perplexity on dev, of the newest one's layers.
    A gang calls `begin` first; without it, the folder is only read.
    """

    def __init__(self, folder: Path, keep: int, warn: Callable[[str], None], keep_best: int = 1) -> None:
        self._folder = folder
        self._keep = keep
        self._keep_best = keep_best
        self._warn = warn
        self._generation = 0
        self._best: str | None = None

    def begin(self, above: int, expected: Identity) -> tuple[int, Checkpoint | None]:
        """Begin a generation above `above`; return it, and the newest complete checkpoint.

        Finishes what a kill or a full disk interrupted: removes temporaries, sets pointers.
        Raises BadCheckpoint if the checkpoints are another recipe's, and Unavailable if the folder cannot be used.
        """
        newest = next((saved for saved in reversed(self._saved()) if saved.identity), None)
        if newest is not None and newest.identity:  # before it fences the gang that trains here
            check_identity(newest.path, newest.identity, expected)
        generation = self.next_generation(above)
        sweep(self._folder)
        checkpoint = self.latest(expected)
        self._point_again(checkpoint)
        return generation, checkpoint

    def save(self, checkpoint: Checkpoint, best: bool) -> Path:
        """Write a checkpoint; point `latest` to it, and `best` if `best`; prune to `keep`.

        Raises StaleGeneration if another gang has begun, and Unavailable if the file system refuses; the folder is
        then unchanged, or has a checkpoint without its pointers, which `begin` sets.
        """
        self._fence()
        path = self._folder / _name(checkpoint)
        content = encode(checkpoint, self._generation, best)
        with atomic_folder(path, self._fence) as temporary:
            for name, data in content.items():
                (temporary / name).write_bytes(data)
        self._best = path.name if best else self._best
        if self._best is not None:
            self._point("best", self._best)
        self._point("latest", path.name)
        self._prune(path)
        return path

    def latest(self, expected: Identity) -> Checkpoint | None:
        """Return the newest complete checkpoint, or None; raises BadCheckpoint if it is another recipe's."""
        found = self._saved()
        for saved in reversed(found):
            try:
                checkpoint = decode(saved.path)
            except BadCheckpoint as error:
                self._warn(f"{error}; it is skipped")
                continue
            check_identity(saved.path, checkpoint.identity, expected)
            return checkpoint
        if found:
            self._warn(f"{self._folder}: none of {len(found)} checkpoints is complete; there is nothing to resume from")
        return None

    def best(self) -> Checkpoint:
        """Return the best checkpoint on dev; raises BadCheckpoint if it is damaged."""
        return load_checkpoint(self._folder, "best")

    def next_generation(self, above: int) -> int:
        """Return a generation above `above` and all that were ever returned for this folder."""
        self._generation = max(self._newest_generation(), above) + 1
        atomic_write(self._folder / "generation", str(self._generation))
        return self._generation

    def _newest_generation(self) -> int:
        try:
            return int(read_file(self._folder / "generation"))
        except BadCheckpoint:  # there is none
            return 0

    def _fence(self) -> None:
        if (newest := self._newest_generation()) > self._generation:
            raise StaleGeneration(self._generation, newest, where=str(self._folder))

    def _point(self, pointer: str, name: str) -> None:
        atomic_write(self._folder / pointer, name, self._fence)

    def _point_again(self, newest: Checkpoint | None) -> None:
        """Set the pointers by the newest checkpoint. If the best one is lost, the next evaluation sets `best`."""
        best = _named(self._folder, "best")
        if newest is not None:
            self._point("latest", _name(newest))
            best = path if read_state(path := self._folder / _name(newest)).get("best") else best
            if best is not None and best.name <= path.name:
                self._best = best.name
                self._point("best", best.name)
                return
            newest.progress.forget_best()
        (self._folder / "best").unlink(missing_ok=True)

    def _saved(self) -> list[_Saved]:
        paths = [path for path in self._folder.glob("step-*") if path.is_dir()]
        states = [read_state(path) for path in paths]
        newest = self._newest_generation()  # a damaged one's generation is unknown
        return sorted(
            _Saved(state.get("generation", 0) if "progress" in state else newest, path, state.get("identity"))
            for path, state in zip(paths, states, strict=True)
        )

    def _prune(self, newest: Path) -> None:
        """Remove all but those to keep, and steps outside the newest one's history, as damaged ones of higher steps."""
        best = _named(self._folder, "best")
        own = [saved.path for saved in self._saved() if saved.generation <= self._generation]
        history = [path for path in own if path.name <= newest.name]
        alike = with_layers(history, _layers(newest))  # dev of fewer layers is no measure of the best
        for path in {*own} - {*history[-self._keep :], *best_first(alike)[: self._keep_best], best}:
            shutil.rmtree(path, ignore_errors=True)


def check_recipe(folder: Path, recipe: Recipe, warn: Callable[[str], None]) -> None:
    """Raise BadCheckpoint if training with `recipe` cannot resume from the folder's newest complete checkpoint.

    warn: as of `Checkpoints`.
    """
    Checkpoints(folder, keep=1, warn=warn).latest(identity(recipe))


def check_identity(checkpoint: Path | str, then: Identity, now: Identity) -> None:
    """Raise BadCheckpoint, naming the checkpoint, if a run may not change from the recipe `then` to `now`."""
    if found := first_differences(then, now):
        raise BadCheckpoint(
            f"{checkpoint}: made with another recipe: {found}; train into another run folder, and another --store if "
            "there is one, or go back to the old recipe"
        )


def load_checkpoint(folder: Path, which: str) -> Checkpoint:
    """Return the checkpoint "best" (on dev; the latest if dev was never evaluated), "latest", or of a step's number.

    Raises BadCheckpoint if there is none, or if it is damaged.
    """
    path: Path | None = None
    if which.isdecimal():
        path = folder / f"step-{int(which):08d}"
    elif which in _POINTERS:
        path = _named(folder, which) or _named(folder, "latest")
    if path is None or not path.is_dir():
        steps = ", ".join(str(int(p.name.removeprefix("step-"))) for p in sorted(folder.glob("step-*")))
        raise BadCheckpoint(
            f"{folder}: no checkpoint {which!r} (steps: {steps or 'none'}); expected {' or '.join(_POINTERS)}, or a "
            "step; without any train first: sonorant train --recipe RECIPE"
        )
    return decode(path)


def best_first(paths: Sequence[Path]) -> list[Path]:
    """Return the checkpoints that were evaluated on dev, the lowest figure first, and of equals the older."""
    measured = []
    for path in paths:
        progress = progress_of(read_state(path))
        if progress.get("dev_step") == progress.get("step") and progress.get("dev") is not None:
            measured.append((progress["dev"], path.name, path))
    return [path for *_, path in sorted(measured)]


def with_layers(paths: Sequence[Path], layers: int | None) -> list[Path]:
    """Return the checkpoints that were trained with so many layers of the encoder; None: all it has."""
    return [path for path in paths if _layers(path) == layers]


def _layers(path: Path) -> int | None:
    layers: int | None = progress_of(read_state(path)).get("layers")
    return layers


def _name(checkpoint: Checkpoint) -> str:
    return f"step-{checkpoint.progress.step:08d}"


def _named(folder: Path, pointer: str) -> Path | None:
    """Return the checkpoint that a pointer names; None if there is no such pointer, or its checkpoint is gone."""
    file = folder / pointer
    path = folder / file.read_text().strip() if file.exists() else None
    return path if path is not None and path.is_dir() else None

"""A checkpoint's content, and its files: arrays.npz, state.json, ledger.bin, manifest.json with checksums."""

import dataclasses
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sonorant.errors import SonorantError, Unavailable
from sonorant.training.identity import Identity

__all__ = ["BadCheckpoint", "Checkpoint", "Progress", "decode", "encode", "progress_of", "read_file", "read_state"]

Arrays = Mapping[str, NDArray[np.float32]]

_CONTENT = ("arrays.npz", "state.json", "ledger.bin")
# Of a checkpoint from before recipes were kept: no recipe equals it, so that nobody trains over it.
_EARLIER = {"version": "before 0.2"}
_GROUPS = ("weights", "evaluated", "average", "optimizer", "accumulated", "loss_scale")
_EARLIER_PROGRESS = {"wer": "dev", "wer_step": "dev_step", "best_wer": "best_dev"}  # when dev had a WER alone
_EARLIER_GROUPS = {"adam": "optimizer"}  # names from before there was another optimizer


class BadCheckpoint(SonorantError):
    """A checkpoint that is damaged, or belongs to another recipe."""

    exit_code = 65


@dataclass
class Progress:
    """Progress of training; times in seconds, summed over resumptions.

    batches: batches of the epoch that each rank has trained on; summed: figures in the sums of batches that wait for
    others to make a step, none if none waits; bad_steps: not finite, the latest in a row; skipped_steps: all of those,
    of which `overflowed_steps` were so for the scale of the loss, and none of bad_steps; dev: the evaluator's figure,
    with the weights of step `dev_step`; regular_dev, regular_best: the same without the looks at dev that only an end
    of the run asked for, so that a run which goes on decides as one that never ended; looks_without_better: regular
    ones, in a row; anneals: of dropout; decays: of the learning rate, by newbob; layers: of the encoder, None: all;
    train_s: wall-clock time of the loop; session_s, elapsed_s: see `metrics`.
    """

    step: int = 0
    epoch: int = 0
    batches: list[int] = field(default_factory=list)
    examples: int = 0
    audio_s: float = 0.0
    summed: list[str] = field(default_factory=list)
    bad_steps: int = 0
    skipped_steps: int = 0
    overflowed_steps: int = 0
    dev: float | None = None
    dev_step: int | None = None
    best_dev: float | None = None
    regular_dev: float | None = None
    regular_best: float | None = None
    looks_without_better: int = 0
    anneals: int = 0
    decays: int = 0
    layers: int | None = None
    train_s: float = 0.0
    session_s: float = 0.0
    elapsed_s: float = 0.0

    def look(self, found: float, extra: bool) -> bool:
        """Take in a figure on dev; return whether it is the best so far. extra: only an end of the run asked for it."""
        better = self.best_dev is None or found < self.best_dev
        self.dev, self.dev_step = found, self.step
        if better:
            self.best_dev = found
        if not extra:
            first = self.regular_best is None or found < self.regular_best
            self.looks_without_better = 0 if first else self.looks_without_better + 1
            self.regular_dev, self.regular_best = found, found if first else self.regular_best
        return better

    def forget_best(self) -> None:
        """Begin to look for the best on dev anew: the model has other layers now, or the best one is lost."""
        self.best_dev = self.regular_best = None
        self.looks_without_better = 0

    @property
    def begun(self) -> bool:
        """Whether a batch has been trained on, so that the normalisation is set; `step` may be 0 then."""
        return self.examples > 0


@dataclass(frozen=True)
class Checkpoint:
    """All state to resume from.

    identity: of the recipe; evaluated: the weights to export, the average's if one is kept; accumulated: sums over the
    batches since the last step; loss_scale: that of float16; arrays by name.
    """

    progress: Progress
    identity: Identity
    weights: Arrays
    evaluated: Arrays
    average: Arrays
    optimizer: Arrays
    ledger: bytes
    accumulated: Arrays = field(default_factory=dict)
    loss_scale: Arrays = field(default_factory=dict)


def encode(checkpoint: Checkpoint, generation: int, best: bool) -> dict[str, bytes]:
    """Return the content of each file; generation: the gang's that saves it; best: whether it was the best on dev."""
    arrays = {f"{group}/{name}": a for group in _GROUPS for name, a in getattr(checkpoint, group).items()}
    file = io.BytesIO()
    np.savez(file, **arrays)
    state = {
        "progress": dataclasses.asdict(checkpoint.progress),
        "identity": checkpoint.identity,
        "generation": generation,
        "best": best,
    }
    content = dict(
        zip(_CONTENT, (file.getvalue(), json.dumps(state, indent=2).encode(), checkpoint.ledger), strict=True)
    )
    checksums = {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}
    return {**content, "manifest.json": json.dumps(checksums, indent=2).encode()}


def decode(path: Path) -> Checkpoint:
    """Return the checkpoint in a folder; raises BadCheckpoint if it is damaged, Unavailable if it cannot be read."""
    try:
        checksums = dict(json.loads(read_file(path / "manifest.json")))
    except (ValueError, TypeError) as error:
        raise BadCheckpoint(f"{path}: incomplete: {error}") from error
    content = {name: read_file(path / name) for name in _CONTENT}
    for name, data in content.items():
        if hashlib.sha256(data).hexdigest() != checksums.get(name):
            raise BadCheckpoint(f"{path / name}: its checksum is not the one in manifest.json; the file is damaged")
    state = json.loads(content["state.json"])
    groups: dict[str, dict[str, NDArray[np.float32]]] = {group: {} for group in _GROUPS}
    with np.load(io.BytesIO(content["arrays.npz"]), allow_pickle=False) as arrays:
        for key in arrays.files:
            group, _, name = key.partition("/")
            groups[_EARLIER_GROUPS.get(group, group)][name] = arrays[key]
    return Checkpoint(
        progress=Progress(**progress_of(state)),
        identity=identity_of(state),
        ledger=content["ledger.bin"],
        weights=groups["weights"],
        evaluated=groups["evaluated"],
        average=groups["average"],
        optimizer=groups["optimizer"],
        accumulated=groups["accumulated"],
        loss_scale=groups["loss_scale"],
    )


def identity_of(state: Mapping[str, Any]) -> Identity:
    """Return what a checkpoint's state.json says of its recipe, or that it is too old to say it."""
    found: Identity = state.get("identity", _EARLIER)
    return found


def progress_of(state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `Progress` in a checkpoint's state.json, under their names today; empty if it has none."""
    found = {_EARLIER_PROGRESS.get(name, name): value for name, value in state.get("progress", {}).items()}
    if found and "regular_dev" not in found:  # when all looks at dev were alike
        found |= {"regular_dev": found.get("dev"), "regular_best": found.get("best_dev")}
    return found


def read_state(path: Path) -> dict[str, Any]:
    """Return state.json of a checkpoint's folder, unchecked; empty if it is damaged.

    Raises Unavailable if it cannot be read.
    """
    try:
        state = json.loads(read_file(path / "state.json"))
    except (BadCheckpoint, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def read_file(file: Path) -> bytes:
    """Return a file's content; BadCheckpoint if it is not there, Unavailable if the file system refuses it now."""
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise BadCheckpoint(f"{file.parent}: incomplete: {error}") from error
    except OSError as error:
        raise Unavailable(
            f"{file}: cannot be read: {error.strerror or error}; the same command goes on once the volume answers"
        ) from error

"""The mean of several checkpoints' weights, which often recognizes better than each of them (Vaswani 2017, 6.1)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sonorant.recipe.differences import first_differences
from sonorant.training.checkpoint_files import BadCheckpoint, Checkpoint, decode
from sonorant.training.checkpoints import best_first, load_checkpoint, with_layers

__all__ = ["averaged_checkpoint"]


def averaged_checkpoint(folder: Path, which: str, count: int) -> Checkpoint:
    """Return the checkpoint `which`, as `load_checkpoint` does, with the mean of `count` ones to be evaluated.

    which: "best": those with the lowest WER on dev; "latest", or a step's number: the last ones up to it. Raises
    BadCheckpoint if there are fewer, one is damaged, or one is another recipe's.
    """
    newest = load_checkpoint(folder, which)
    if count == 1:
        return newest
    paths = with_layers(sorted(folder.glob("step-*")), newest.progress.layers)
    if which == "best":
        paths, key = best_first(paths)[:count], "training.keep_best_checkpoints"
    else:
        last = f"step-{newest.progress.step:08d}"
        paths, key = [path for path in paths if path.name <= last][-count:], "training.keep_checkpoints"
    if len(paths) < count:
        raise BadCheckpoint(
            f"{folder}: the mean of {count} checkpoints ({which}): found {len(paths)}; average fewer, or train with "
            f"{key}: {count}"
        )
    checkpoints = [decode(path) for path in paths]
    for path, checkpoint in zip(paths, checkpoints, strict=True):
        if found := first_differences(checkpoint.identity, newest.identity):
            raise BadCheckpoint(f"{path}: made with another recipe than {which}: {found}; average fewer")
    return replace(newest, evaluated=_mean([checkpoint.evaluated for checkpoint in checkpoints]))


def _mean(weights: Sequence[Mapping[str, NDArray[np.float32]]]) -> dict[str, NDArray[np.float32]]:
    return {
        name: np.mean([one[name] for one in weights], axis=0, dtype=np.float64).astype(np.float32)
        for name in weights[0]
    }

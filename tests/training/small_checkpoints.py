"""Checkpoints of a few numbers, and gangs that save and resume from them."""

import numpy as np

from sonorant.training.checkpoints import Checkpoint, Checkpoints, Progress

RECIPE = {"seed": 1}


def checkpoint(step, mark=RECIPE):
    arrays = {"lstm_0/weight": np.full((2, 3), step, np.float32)}
    return Checkpoint(
        Progress(step=step, batches=[4, 5]), mark, arrays, arrays, {"0": np.ones(2)}, {"t": np.ones(())}, b"ledger"
    )


def gang(folder, keep=2, warnings=None):
    """Return the checkpoints of a gang that begins now, its generation, and the step that it begins from."""
    checkpoints = Checkpoints(folder, keep, [].append if warnings is None else warnings.append)
    generation, begun = checkpoints.begin(0, RECIPE)
    return checkpoints, generation, begun and begun.progress.step


def steps(folder):
    return sorted(int(path.name[5:]) for path in folder.glob("step-*"))


def damage(path):
    (path / "arrays.npz").write_bytes(b"")

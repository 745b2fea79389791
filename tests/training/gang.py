"""What one rank of tests/training/test_step.py does: `python gang.py FOLDER`, under mpirun or alone."""

import json
import sys
from pathlib import Path

import numpy as np
from training.tiny import BINS, shard_counts, tiny_example, tiny_recipe, tiny_units

from sonorant.models.registry import build_model
from sonorant.objectives.registry import build_objective
from sonorant.training.batch import collate, empty_tensors
from sonorant.training.collective import HorovodCollective
from sonorant.training.labeller import Labeller
from sonorant.training.step import Notes, TrainStep

# What each of two ranks trains on in each step: uneven batches, a rank without one, nobody with one.
SHARES = [
    *((range(0, 5), range(5, 7)), (range(7, 8), ()), ((), ()), ((), range(8, 12))),
    *((range(12, 15), range(15, 18)), (range(5), ())),
]
SPOILT = (4, 1)  # in this step, this rank has a batch that is not finite
LATE = 5  # in this step, the last rank is late for one that may not be done without it


def main(folder: Path) -> None:
    collective = HorovodCollective()
    recipe = tiny_recipe(clip_norm=0.5)
    recipe = recipe.model_copy(update={"model": recipe.model.model_copy(update={"dropout": 0.0})})
    objective = build_objective(recipe, tiny_units())
    step = TrainStep(build_model(recipe.model, BINS, tiny_units().size, seed=1), objective, recipe, collective)
    label = Labeller(objective, shard_counts(18))
    results, first_moment = [], 0.0
    for number, shares in enumerate(SHARES):
        mine = shares[collective.rank] if collective.size == 2 else [*shares[0], *shares[1]]
        examples, padding = [label(tiny_example(o)) for o in mine], objective.padding
        tensors = collate(0, 0, examples, padding).tensors if mine else empty_tensors(BINS, padding)
        if number == SPOILT[0] and collective.rank == min(SPOILT[1], collective.size - 1):
            tensors = tensors._replace(features=tensors.features * np.nan)
        late = number == LATE and collective.rank == collective.size - 1
        result = step(tensors, number, Notes(drained=1.0, late=float(late), audio_s=float(len(mine))))
        if number == 0:
            moments = [values for name, values in step.optimizer.state().items() if name.startswith("m/")]
            first_moment = float(np.sqrt(sum(np.sum(np.square(m, dtype=float)) for m in moments)))
        results.append([result.loss, result.gradient_norm, result.examples, result.applied, result.notes.drained])
    outcome = {
        "size": collective.size,
        "results": results,
        "first_moment": first_moment,
        "broadcast": collective.broadcast(f"from {collective.rank}"),
        "gathered": collective.gather(collective.rank),
    }
    np.savez(folder / f"weights-{collective.rank}.npz", **step.model.named_weights(), **step.optimizer.state())
    (folder / f"outcome-{collective.rank}.json").write_text(json.dumps(outcome))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Puts a trainer together around sources and ledgers in memory."""

import itertools
from pathlib import Path

import numpy as np
from training.tiny import BINS, MemorySource, shard_counts, tiny_example, tiny_units

from sonorant.models.registry import build_model
from sonorant.objectives.registry import build_objective
from sonorant.training.checkpoints import Checkpoints, Progress, fingerprint
from sonorant.training.collective import SingleProcess
from sonorant.training.evaluation import DevUtterance, Evaluator
from sonorant.training.fast_intake import FastIntake
from sonorant.training.feeder import Feeder
from sonorant.training.labeller import Labeller
from sonorant.training.loop import Trainer, TrainerParts
from sonorant.training.metrics import MetricsLog
from sonorant.training.reporting import Reporter
from sonorant.training.step import TrainStep
from sonorant.training.strict_intake import StrictIntake


def resume(step, ledger, checkpoints, recipe):
    """What services/trainer does at its start: weights, ledger and place of the latest checkpoint."""
    generation, checkpoint = checkpoints.begin(ledger.generation(), fingerprint(recipe))
    ledger.restore(generation, checkpoint.ledger if checkpoint else None)
    if checkpoint:
        step.restore(checkpoint)
    return generation, checkpoint.progress if checkpoint else Progress()


def tiny_trainer(
    recipe, folder: Path, ledger, total, *, terminate_after=None, turned=lambda: None, make=tiny_example, warnings=None
):
    """Return a trainer; `terminate_after` turns of the loop, a signal comes."""
    units = tiny_units()
    model = build_model(recipe.model, BINS, units.size, seed=recipe.seed)
    objective = build_objective(recipe, units)
    step = TrainStep(model, objective, recipe, SingleProcess())
    checkpoints = Checkpoints(folder / "checkpoints", recipe.training.keep_checkpoints, (warnings or []).append)
    generation, progress = resume(step, ledger, checkpoints, recipe)
    batches = progress.batches[0] if progress.batches else 0
    if recipe.pipeline.order == "strict":
        settled = ledger.settled(progress.epoch)
        intake = StrictIntake.of(recipe, shard_counts(total), settled, 0, progress.epoch, batches)
    else:
        intake = FastIntake(recipe.training, recipe.seed, 0, progress.epoch, batches)
    feeder = Feeder(
        MemorySource(ledger, total, progress.epoch, recipe.training.epochs, make),
        ledger,
        generation,
        intake,
        Labeller(objective, shard_counts(total)),
        recipe.training.epochs,
        measure=progress.step == 0,
    )
    dev = [tiny_example(o) for o in range(1000, 1010)]
    turns = itertools.count()
    return Trainer(
        TrainerParts(
            recipe=recipe,
            step=step,
            feeder=feeder,
            evaluator=Evaluator(model, units, [DevUtterance(e.features, e.text) for e in dev], SingleProcess()),
            ledger=ledger,
            generation=generation,
            checkpoints=checkpoints,
            reporter=Reporter(MetricsLog(folder / "metrics.jsonl", progress.train_s)),
            collective=SingleProcess(),
            clock=itertools.count(step=0.2503).__next__,
            terminated=lambda: terminate_after is not None and next(turns) >= terminate_after,
            turned=turned,
            held_up=intake.widen if recipe.pipeline.order == "strict" else None,
        ),
        progress,
    )


def run(trainer):
    feeder = trainer.parts.feeder
    feeder.start()
    try:
        return trainer.run()
    finally:
        feeder.close()
        trainer.parts.reporter.close()


def weights(trainer):
    return np.concatenate([w.ravel() for w in trainer.parts.step.model.named_weights().values()])

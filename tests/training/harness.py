"""Puts a trainer together around sources and ledgers in memory."""

import itertools
import json
from pathlib import Path

import numpy as np
from training.tiny import BINS, MemorySource, shard_counts, tiny_example, tiny_units

from sonorant.errors import SonorantError
from sonorant.training.building import TrainingData, build_trainer, resumed_progress
from sonorant.training.checkpoints import Checkpoints
from sonorant.training.collective import SingleProcess
from sonorant.training.evaluation import DevUtterance
from sonorant.training.identity import identity
from sonorant.training.metrics import MetricsLog
from sonorant.training.parts import TrainerPorts
from sonorant.training.reporting import Reporter


def begin(ledger, checkpoints, recipe):
    """What services/trainer does at its start: the ledger of the latest checkpoint."""
    generation, checkpoint = checkpoints.begin(ledger.generation(), identity(recipe))
    ledger.restore(generation, checkpoint.ledger if checkpoint else None)
    return generation, checkpoint


def tiny_trainer(
    recipe,
    folder: Path,
    ledger,
    total,
    *,
    terminate_after=None,
    on_iteration=lambda: None,
    make=tiny_example,
    warnings=None,
    show=lambda figures: None,
    dev=None,
):
    """Return a trainer; after `terminate_after` iterations of the loop a signal comes."""
    training = recipe.training
    kept = (training.keep_checkpoints, (warnings or []).append, training.keep_best_checkpoints)
    checkpoints = Checkpoints(folder / "checkpoints", *kept)
    generation, checkpoint = begin(ledger, checkpoints, recipe)
    progress = resumed_progress(checkpoint, ranks=1)
    if dev is None:
        dev = (DevUtterance(e.features, e.text) for e in (tiny_example(o) for o in range(1000, 1010)))
    iterations = itertools.count()
    ports = TrainerPorts(
        source=MemorySource(ledger, total, progress.epoch, recipe.training.epochs, make),
        ledger=ledger,
        generation=generation,
        checkpoints=checkpoints,
        reporter=Reporter(MetricsLog(folder / "metrics.jsonl", progress.train_s), show=show),
        collective=SingleProcess(),
        clock=itertools.count(step=0.2503).__next__,
        terminated=lambda: terminate_after is not None and next(iterations) >= terminate_after,
        on_iteration=on_iteration,
    )
    data = TrainingData(tiny_units(), 0 if recipe.of_text else BINS, shard_counts(total), dev)
    try:
        return build_trainer(recipe, data, checkpoint, progress, ports)
    except SonorantError:
        ports.reporter.close()
        raise


def run(trainer):
    feeder = trainer.parts.feeder
    feeder.start()
    try:
        return trainer.run()
    finally:
        feeder.close()
        trainer.ports.reporter.close()


def weights(trainer):
    return np.concatenate([w.ravel() for w in trainer.parts.step.model.named_weights().values()])


def lines(folder, kind):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if row["kind"] == kind]

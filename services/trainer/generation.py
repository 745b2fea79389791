"""Rank 0's start of a generation, and report of the end of training, without a model."""

import structlog

from services.coordination.redis_ledger import RedisLedger
from services.storage.run import SharedRun
from services.trainer.coordination import end_recorded, end_training, start_generation
from sonorant.recipe import Recipe
from sonorant.training.checkpoints import Checkpoint, Checkpoints, Progress
from sonorant.training.identity import identity

__all__ = ["begin_generation", "report_end", "run_checkpoints"]

log = structlog.get_logger()


def run_checkpoints(run: SharedRun, recipe: Recipe) -> Checkpoints:
    """Return the checkpoints of a run; ignored ones are logged."""

    def warn(message: str) -> None:
        log.warning("checkpoint_ignored", reason=message)

    training = recipe.training
    return Checkpoints(run.folder.checkpoints, training.keep_checkpoints, warn, training.keep_best_checkpoints)


def begin_generation(
    run: SharedRun, recipe: Recipe, checkpoints: Checkpoints, ledger: RedisLedger, coordinator: str
) -> tuple[int, Checkpoint | None]:
    """Restore the ledger from the latest checkpoint, and start a generation for the rest of its epoch."""
    run.pull_checkpoints()
    generation, checkpoint = checkpoints.begin(ledger.generation(), identity(recipe))
    run.push_generation()
    ledger.restore(generation, checkpoint.ledger if checkpoint else None)
    progress = checkpoint.progress if checkpoint else Progress()
    start_generation(coordinator, generation, progress.epoch, recipe.training.epochs - 1)
    log.info("generation_started", generation=generation, step=progress.step, epoch=progress.epoch)
    return generation, checkpoint


def report_end(run: SharedRun, recipe: Recipe, coordinator: str, redis_url: str) -> None:
    """Report the end of training to the coordinator, unless it has recorded it.

    Needed when rank 0 died after it had written the totals, or Redis has lost its data since. Raises Unavailable if
    coordinator or Redis do not answer.
    """
    if end_recorded(coordinator):
        return
    run.push_totals()
    ledger = RedisLedger(redis_url, run.open_shards("train").total)
    try:
        generation, _ = begin_generation(run, recipe, run_checkpoints(run, recipe), ledger, coordinator)
    finally:
        ledger.close()
    end_training(coordinator, generation)
    log.info("end_reported", coordinator=coordinator, generation=generation)

"""The beginning of a generation, and the end that a coordinator may have missed: rank 0's part, without a model."""

import structlog

from services.coordination.redis_ledger import RedisLedger
from services.storage.run import SharedRun
from services.trainer.coordination import end_training, knows_end, start_generation
from sonorant.recipe import Recipe
from sonorant.training.checkpoints import Checkpoint, Checkpoints, Progress
from sonorant.training.identity import identity

__all__ = ["begin_generation", "run_checkpoints", "tell_end"]

log = structlog.get_logger()


def run_checkpoints(run: SharedRun, recipe: Recipe) -> Checkpoints:
    """Return the checkpoints of a run; those that are ignored are logged."""

    def warn(message: str) -> None:
        log.warning("checkpoint_ignored", reason=message)

    return Checkpoints(run.folder.checkpoints, recipe.training.keep_checkpoints, warn)


def begin_generation(
    run: SharedRun, recipe: Recipe, checkpoints: Checkpoints, ledger: RedisLedger, coordinator: str
) -> tuple[int, Checkpoint | None]:
    """Put the ledger back to the latest checkpoint, and let the coordinator lease what is left of its epoch."""
    run.pull_checkpoints()
    generation, checkpoint = checkpoints.begin(ledger.generation(), identity(recipe))
    run.push_generation()
    ledger.restore(generation, checkpoint.ledger if checkpoint else None)
    progress = checkpoint.progress if checkpoint else Progress()
    start_generation(coordinator, generation, progress.epoch, recipe.training.epochs - 1)
    log.info("generation_started", generation=generation, step=progress.step, epoch=progress.epoch)
    return generation, checkpoint


def tell_end(run: SharedRun, recipe: Recipe, coordinator: str, redis_url: str) -> None:
    """See to it that the coordinator knows that training is complete; once it does, nothing is done.

    Rank 0 may have been lost after it wrote what came of the run, or Redis its memory since. Raises Unavailable if
    coordinator or Redis do not answer.
    """
    if knows_end(coordinator):
        return
    run.push_totals()
    ledger = RedisLedger(redis_url, run.open_shards("train").total)
    try:
        generation, _ = begin_generation(run, recipe, run_checkpoints(run, recipe), ledger, coordinator)
    finally:
        ledger.close()
    end_training(coordinator, generation)
    log.info("end_told", coordinator=coordinator, generation=generation)

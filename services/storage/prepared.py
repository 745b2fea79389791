"""Waiting for shards: in a cluster all components start at once, while a job prepares them."""

import time
from collections.abc import Callable

import structlog

from services.storage.run import SharedRun
from sonorant.corpus.prepared import check_prepared
from sonorant.errors import BadCorpus, BadRecipe, Unavailable
from sonorant.recipe import Recipe

__all__ = ["await_shards"]

log = structlog.get_logger()

_LOOK_EVERY_S = 1.0


def await_shards(
    run: SharedRun, recipe: Recipe, patience_s: float, waits: Callable[[bool], None] = lambda waits: None
) -> None:
    """Wait up to `patience_s` until the run has finished shards for `recipe`, and pull recipe, units, card and indexes.

    patience_s: 0 skips the check. waits: called with whether only shards are missing, which may take hours and is no
    fault, whenever that changes. Raises BadCorpus if there are none by then, BadRecipe if they
    are for other recordings than the recipe names, Unavailable if the run's store cannot be reached.
    """
    if not patience_s:
        run.pull_shards()
        return
    deadline_s = time.monotonic() + patience_s
    reported: bool | None = None
    while True:
        try:
            run.pull_shards()
            check_prepared(recipe, run.folder)
            if reported:
                waits(False)
            return
        except (BadCorpus, BadRecipe, Unavailable) as error:
            if time.monotonic() > deadline_s:
                raise
            only_shards = not isinstance(error, Unavailable)
            if reported is not only_shards:
                reported = only_shards
                waits(only_shards)
                log.info("waiting_for_shards", reason=str(error))
        time.sleep(min(_LOOK_EVERY_S, patience_s))

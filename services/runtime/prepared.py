"""Waiting for shards: in a cluster everything starts at once, and a job prepares them meanwhile."""

import time

import structlog

from sonorant.corpus.prepared import check_prepared
from sonorant.errors import BadCorpus, BadRecipe
from sonorant.recipe import Recipe
from sonorant.run_folder import RunFolder

__all__ = ["await_shards"]

log = structlog.get_logger()

_LOOK_EVERY_S = 1.0


def await_shards(run: RunFolder, recipe: Recipe, patience_s: float) -> None:
    """Wait up to `patience_s` until the run has finished shards for `recipe`; 0: take for granted that it has.

    Raises BadCorpus if there are none by then, BadRecipe if they are for other recordings than the recipe names.
    """
    if not patience_s:
        return
    deadline_s = time.monotonic() + patience_s
    told = False
    while True:
        try:
            check_prepared(recipe, run)
            return
        except (BadCorpus, BadRecipe) as error:
            if time.monotonic() > deadline_s:
                raise
            if not told:
                told = True
                log.info("waiting_for_shards", reason=str(error))
        time.sleep(min(_LOOK_EVERY_S, patience_s))

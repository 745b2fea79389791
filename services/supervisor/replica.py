"""One replica of a stage in the local cluster."""

from services.supervisor.child import Child
from sonorant.errors import BadCorpus, BadRecipe

__all__ = ["Replica"]

_FINAL_CODES = (BadCorpus.exit_code, BadRecipe.exit_code)


class Replica(Child):
    """Keeps a replica up, unless its first process finds bad data or a bad recipe: `ProcessFailed` then, at once.

    Behind a restart these codes are not final: shards that are away for a moment look like bad data.
    """

    def _is_final(self, code: int) -> bool:
        return not self.restarts and code in _FINAL_CODES

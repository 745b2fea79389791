"""What a store has of a run that `prepare` is called for with a folder of its own."""

from collections.abc import Collection
from dataclasses import dataclass

__all__ = ["NOTHING", "Stored"]


@dataclass(frozen=True)
class Stored:
    """Names of the finished shards of the folder's plan, and of which shards the store's checkpoints are.

    url: of the store; empty if there is none.
    trained_on: fingerprint of the plan whose shards the checkpoints were trained on; None without checkpoints or plan.
    """

    url: str = ""
    shards: Collection[str] = ()
    trained_on: str | None = None


NOTHING = Stored()
"""What there is of a run without a store."""

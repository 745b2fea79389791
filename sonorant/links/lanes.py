"""Lanes: which of a producer's consumers may receive an example. The queues themselves: `outbox`."""

from sonorant.delivery.example import Lineage

__all__ = ["lane_of"]


def lane_of(lineage: Lineage, lanes: int) -> int:
    """Return the lane of an example, the same in every epoch; neighbours in a shard go to successive lanes."""
    return (lineage.shard + lineage.index) % lanes

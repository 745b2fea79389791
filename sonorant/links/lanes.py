"""Lanes: which of a producer's consumers may have an example. What waits in each: `outbox`."""

from sonorant.delivery.example import Lineage

__all__ = ["lane_of"]


def lane_of(lineage: Lineage, lanes: int) -> int:
    """Return the lane that an example takes in every epoch; neighbours, leased together, take them in turn."""
    return (lineage.shard + lineage.index) % lanes

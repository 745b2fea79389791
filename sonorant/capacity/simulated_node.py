"""The simulation's node: cores that replicas compute on, in equal shares where there are too few."""

import math

__all__ = ["Node"]


class Node:
    """`cores` of one node, or of many that are loaded alike.

    A replica's pace is set when it begins to compute, by who else does then: as if shares were exact, on average.
    """

    def __init__(self, cores: float = math.inf) -> None:
        self._cores = cores
        self._load = 0.0  # cores that those who compute would use

    def begin(self, cpu_s: float, granted: float) -> float:
        """Let a replica compute for `cpu_s` seconds of `granted` cores; return how long it takes."""
        self._load += granted
        return cpu_s / granted * max(1.0, self._load / self._cores)

    def end(self, granted: float) -> None:
        """Note that a replica computes no more."""
        self._load -= granted

"""The simulation's node: cores of replicas, in equal shares when there are too few."""

import math

__all__ = ["Node"]


class Node:
    """`cores` of one node, or of many that are loaded alike.

    A replica's pace is set when it begins to compute, by the others that compute then: shares are exact on average.
    """

    def __init__(self, cores: float = math.inf) -> None:
        self._cores = cores
        self._load = 0.0  # demand of the computing replicas, in cores

    def begin(self, cpu_s: float, granted: float) -> float:
        """Start a replica's computation of `cpu_s` seconds on `granted` cores; return its duration."""
        self._load += granted
        return cpu_s / granted * max(1.0, self._load / self._cores)

    def end(self, granted: float) -> None:
        """Note the end of a replica's computation."""
        self._load -= granted

"""A simulation's scenario: stages, trainer, failures; and its measurements."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from sonorant.capacity.measurements import Snapshot

__all__ = ["Control", "Draw", "Moment", "StageModel", "TrainerModel", "Weather"]

Draw: TypeAlias = Callable[[np.random.Generator, int], np.ndarray[Any, np.dtype[np.float64]]]
"""(rng, n) → Float64[n, stages]: CPU seconds of each of n examples in each stage."""


@dataclass(frozen=True)
class StageModel:
    """A stage: its name, initial replicas, and each one's limit of examples.

    granted: cores that a replica may use, at most 1; waits_s: for storage, of each example, without a core.
    """

    name: str
    replicas: int = 1
    credits: int = 16
    granted: float = 1.0
    waits_s: float = 0.0


@dataclass(frozen=True)
class Weather:
    """Start-up and failures of replicas: seconds until a new one works, and how often each dies and is replaced.

    cores: shared by all replicas.
    """

    start_s: float = 0.0
    deaths_per_hour: float = 0.0
    cores: float = math.inf


@dataclass(frozen=True)
class Moment:
    """One measurement of the simulated cluster, over the time since the one before.

    replicas: desired, by stage; working: those that work; rate: examples trained on per second; t_session: share of
    the time that ranks were in their step; utilisation: share of the time that each stage's replicas computed.
    """

    at_s: float
    replicas: Mapping[str, int]
    working: Mapping[str, int]
    rate: float
    t_session: float
    utilisation: Mapping[str, float]


Control: TypeAlias = Callable[[Snapshot, Mapping[str, int], float], Mapping[str, int]]
"""(snapshot, desired replicas, now in seconds) → desired replicas from now on; as `Planner.decide` does."""


@dataclass(frozen=True)
class TrainerModel:
    """Ranks, the examples of a batch, the pool that each rank keeps, and the seconds of a step once all have begun it.

    enough: examples in a pool from which on a batch is drawn; filled: examples in a pool at first; patience_s: a rank
    that finds no batch for so long joins the step without one.
    """

    ranks: int
    step_s: float
    batch: int = 32
    pool: int = 256
    enough: int = 128
    filled: int = 0
    patience_s: float = 1.0

    def __post_init__(self) -> None:
        if not self.batch <= self.enough <= self.pool:
            raise ValueError(
                f"batch={self.batch}, enough={self.enough}, pool={self.pool}: need batch <= enough <= pool"
            )

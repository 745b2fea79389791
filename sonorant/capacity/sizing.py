"""Replicas that each stage of a chain needs for a rate after its last one: all stages at once.

After DS2 (Kalavri et al. 2018, "Three steps is all you need", section 3): a stage's true rate is examples per *busy*
second, so it does not depend on waits during the measurement, and the needs of all stages follow from one
pass over the graph. There, sources set the rate and the pass goes downstream; here examples are pulled, so the trainer
sets it and the pass goes upstream.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

__all__ = ["MOST", "Bounds", "Sizing", "StageCost", "figure", "size"]

MOST = 1_000_000
_SLACK = 1e-9  # a need that exceeds a whole number by less than this is rounding
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Bounds:
    """Fewest and most replicas of a stage, and the cores of one. Raises ValueError if none lie between."""

    least: int = 1
    most: int = MOST
    cores: float = 1.0

    def __post_init__(self) -> None:
        if not 1 <= self.least <= self.most:
            raise ValueError(f"least={self.least}, most={self.most}: need 1 <= least <= most")


@dataclass(frozen=True, slots=True)
class StageCost:
    """An example's cost in a stage.

    service_s: seconds of one replica for each example that it hands on, overhead included; output_ratio: examples
    handed on for each one taken, less than 1 if some are rejected.
    """

    stage: str
    service_s: float
    output_ratio: float = 1.0
    bounds: Bounds = Bounds()


@dataclass(frozen=True)
class Sizing:
    """Replicas by stage, the examples per second that the chain then can hand on, and its limits.

    rate: at most the requested one; limits: sentences, empty if that is reached.
    """

    replicas: Mapping[str, int]
    rate: float
    limits: tuple[str, ...] = ()


def size(costs: Sequence[StageCost], rate: float, utilisation: float, cores: float = math.inf) -> Sizing:
    """Return the fewest replicas with which every stage's busy share is at most `utilisation` at `rate`.

    costs: in the order in which an example passes them; rate: examples per second after the last; cores: limit for
    all replicas together. If bounds or cores are too few, the stages get equal rates, the highest possible, at full
    utilisation: replicas that the others cannot feed, or reserves, would only use scarce cores. `least` takes
    precedence over cores.
    """
    busy_s = _busy_s(costs)
    limits: list[str] = []
    possible = rate / utilisation  # of the stages, if they were busy all the time
    for cost, seconds in zip(costs, busy_s, strict=True):
        if (most := cost.bounds.most / seconds) < rate:
            limits.append(
                f"{cost.stage}: {_needed(possible * seconds)} replicas are needed, {cost.bounds.most} allowed; they "
                f"hand on {figure(most)} of {figure(rate)} examples/s"
            )
    possible = min([possible, *(cost.bounds.most / seconds for cost, seconds in zip(costs, busy_s, strict=True))])
    counts = _counts(costs, busy_s, possible)
    asked = _cores(costs, counts)
    if asked > cores:
        counts = _counts(costs, busy_s, _fit(costs, busy_s, possible, cores))
    reached = min([rate, *(count / seconds for count, seconds in zip(counts, busy_s, strict=True))])
    if asked > cores:
        limits.append(
            f"{figure(asked)} cores are needed, {figure(cores)} allowed; they hand on {figure(reached)} of "
            f"{figure(rate)} examples/s"
        )
    return Sizing({cost.stage: count for cost, count in zip(costs, counts, strict=True)}, reached, tuple(limits))


def figure(value: float) -> str:
    """Format a number for a sentence: 3 digits, or all of a whole number."""
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"


def _busy_s(costs: Sequence[StageCost]) -> list[float]:
    """Return each stage's seconds per example after the *last* stage, those of later rejected ones included."""
    result: list[float] = []
    later = 1.0
    for cost in reversed(costs):
        result.append(cost.service_s / later)
        later *= cost.output_ratio
    return result[::-1]


def _counts(costs: Sequence[StageCost], busy_s: Sequence[float], possible: float) -> list[int]:
    return [
        max(cost.bounds.least, min(_needed(possible * seconds), cost.bounds.most))
        for cost, seconds in zip(costs, busy_s, strict=True)
    ]


def _needed(busy: float) -> int:
    return math.ceil(busy - _SLACK * max(1.0, busy))


def _cores(costs: Sequence[StageCost], counts: Sequence[int]) -> float:
    return sum(cost.bounds.cores * count for cost, count in zip(costs, counts, strict=True))


def _fit(costs: Sequence[StageCost], busy_s: Sequence[float], most: float, cores: float) -> float:
    """Return the highest rate, at full utilisation, with enough cores for its replicas, by bisection."""
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _cores(costs, _counts(costs, busy_s, middle)) <= cores:
            low = middle
        else:
            high = middle
    return low

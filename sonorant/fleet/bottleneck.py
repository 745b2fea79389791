"""The stage that limits the trainer's rate."""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["StageLoad", "find_bottleneck"]

_FED = 0.9  # t_session from which on the trainer itself is the limit
_IDLE = 0.3  # utilisation below which a stage cannot be the limit
_CLOSE = 0.05  # utilisations that differ by less count as equal


@dataclass(frozen=True, slots=True)
class StageLoad:
    """One stage, all replicas together: mean utilisation in [0, 1], and examples that wait in them."""

    stage: str
    utilisation: float
    queued: int


def find_bottleneck(stages: Sequence[StageLoad], t_session: float | None) -> str:
    """Return the stage that limits the rate; empty when the trainer does, or when no stage is busy.

    stages: in the order in which an example passes them. t_session: the trainer's share of time in its step, None if
    not known yet. The limiting stage is the busiest; between stages that are as busy, work piles up before the one
    that limits, so the longest queue decides, and then the later stage.
    """
    if not stages or (t_session is not None and t_session >= _FED):
        return ""
    busiest = max(load.utilisation for load in stages)
    if busiest < _IDLE:
        return ""
    candidates = [(load.queued, at) for at, load in enumerate(stages) if load.utilisation > busiest - _CLOSE]
    return stages[max(candidates)[1]].stage

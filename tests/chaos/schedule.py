"""The faults of a run and their times: a function of the seed, so that a failing run can be repeated."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Injection", "plan"]

_KINDS = {  # weights: cheap faults often, those that cost a restart of the gang (seconds) seldom
    "kill stage": 6,
    "pause stage": 3,
    "restart stage": 2,
    "add stage": 2,
    "remove stage": 2,
    "cut links": 4,
    "delay links": 2,
    "freeze links": 2,
    "kill coordinator": 2,
    "pause coordinator": 1,
    "restart coordinator": 1,
    "kill redis": 2,
    "pause redis": 1,
    "restart redis": 1,
    "kill rank": 1,
    "pause rank": 1,
    "resize gang": 1,
}
_LONGEST_S = 5.0  # of a pause, a delay or a freeze: longer than a replica may be silent


class Injection(NamedTuple):
    """At `at_s` after the start, `kind` hits a replica of `stage`, number `pick` modulo how many there are."""

    at_s: float
    kind: str
    stage: str
    pick: int
    seconds: float


def plan(seed: int, duration_s: float, every_s: float, stages: Sequence[str], resizes: bool = True) -> list[Injection]:
    """Return the faults of a run, `every_s` apart on average; the first comes when everything may have started.

    Each kind comes once before any comes again, so that a minute has most of them and an hour is like its weights.
    resizes: whether the gang may come back with another number of ranks.
    """
    rng = np.random.default_rng(seed)
    kinds = [kind for kind in _KINDS if resizes or kind != "resize gang"]
    weights = np.array([_KINDS[kind] for kind in kinds], float)
    once = [str(kind) for kind in rng.permutation(kinds)]
    injections = []
    at_s = 0.0
    while (at_s := at_s + float(rng.uniform(0.5, 1.5)) * every_s) < duration_s:
        kind = once.pop() if once else str(rng.choice(kinds, p=weights / weights.sum()))
        stage = str(rng.choice(stages))
        injections.append(
            Injection(
                round(at_s, 3), kind, stage, int(rng.integers(1000)), round(float(rng.uniform(0.3, _LONGEST_S)), 3)
            )
        )
    return injections

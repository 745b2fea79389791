"""Faults injected into `sonorant train` from outside, in a sequence that depends on the seed only."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["AT_THE_END", "FAULTS", "NEED_DISK", "SLOW", "Fault", "Injection", "draw"]

_LONGEST_PAUSE_S = 4.0
_FULL_S, _HIDDEN_S = 6.0, 1.0


class Fault(NamedTuple):
    """A verb and its target; window: the write just before which it is injected, empty: any time."""

    verb: str
    noun: str
    window: str = ""

    @property
    def kind(self) -> str:
        """Name in reports."""
        return f"{self.verb} {self.noun}" + (f" before {self.window}" if self.window else "")

    @property
    def gang_ends(self) -> int:
        """How many of its starts it costs the gang of ranks: one to bring it into the window of a start, one there."""
        return (self.window in ("restore", "start")) + (self.noun in ("rank", "mpirun") and self.verb != "pause")


class Injection(NamedTuple):
    """A fault, at the replica of `stage` if it is for stages; pick: selects the target; at_once: before work
    flows again after the one before it."""

    fault: Fault
    stage: str
    pick: int
    seconds: float
    at_once: bool


_PROCESSES = ("stage", "coordinator", "redis", "mpirun", "rank", "command")
FAULTS = (
    *(Fault(verb, noun) for verb in ("kill", "term", "pause") for noun in _PROCESSES),
    Fault("hang", "stage"),
    Fault("second", "command"),
    Fault("fill", "logs"),
    Fault("fill", "run"),
    Fault("hide", "shards"),
    Fault("cut", "aof"),
    *(Fault("kill", noun, "checkpoint") for noun in ("rank", "redis", "command")),
    Fault("kill", "rank", "latest"),
    *(Fault("kill", noun, "restore") for noun in ("rank", "redis", "coordinator", "command")),
    *(Fault("kill", noun, "start") for noun in ("rank", "redis", "coordinator")),
)
SLOW = tuple(Fault("hang", noun) for noun in ("coordinator", "redis", "mpirun", "rank"))
"""Hangs that only silence or the stall rule detects."""
AT_THE_END = (
    *(Fault("kill", noun, "last checkpoint") for noun in ("rank", "coordinator", "command")),
    Fault("fill", "run", "last checkpoint"),
    *(Fault("kill", noun, "end") for noun in ("rank", "redis", "coordinator", "command")),
)
"""One of these is the last of each training."""
NEED_DISK = ("logs", "run")


def draw(seed: int, stages: Sequence[str], faults: Sequence[Fault]) -> Iterator[Injection]:
    """Yield injections without end, none if there are no faults; each of these comes once before any comes again."""
    rng = np.random.default_rng(seed)
    while faults:
        for i in rng.permutation(len(faults)):
            fault = faults[i]
            seconds = round(float(rng.uniform(0.3, _LONGEST_PAUSE_S)), 3)
            given = {"fill": _FULL_S, "hide": _HIDDEN_S}.get(fault.verb, seconds)
            stage = stages[int(rng.integers(len(stages)))]
            yield Injection(fault, stage, int(rng.integers(1000)), given, bool(rng.random() < 0.3))

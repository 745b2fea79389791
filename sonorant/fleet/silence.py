"""Detection of hanging processes: running, heartbeats received since their start, and none for too long."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

__all__ = ["LONGEST_LOOK_S", "SilenceWatch"]

LONGEST_LOOK_S = 5.0
"""Most time that counts between two calls of `look`: if this process was stopped meanwhile, it observed nothing."""


@dataclass
class _Life:
    number: int
    alive: bool = False
    silent_s: float = 0.0


class SilenceWatch:
    """Reports processes that are silent for `silent_s`, after a first sign of life, or while a signal stops them.

    A process without any heartbeat so far is still loading, for which there is no limit here.
    """

    def __init__(self, silent_s: float) -> None:
        self._silent_s = silent_s
        self._lives: dict[str, _Life] = {}

    def look(
        self, elapsed_s: float, lives: Mapping[str, int], alive: Collection[str], stopped: Collection[str] = ()
    ) -> list[str]:
        """Return the names of those that hang now, each once a life.

        elapsed_s: since the look before. lives: process number of each running process. alive: processes with a
        sign of life since; stopped: those that a signal keeps from running.
        """
        hung = []
        for name, number in lives.items():
            life = self._lives.get(name)
            if life is None or life.number != number:
                life = self._lives[name] = _Life(number)
            if name in alive:
                life.alive, life.silent_s = True, 0.0
            elif life.alive or name in stopped:
                before, life.silent_s = life.silent_s, life.silent_s + min(elapsed_s, LONGEST_LOOK_S)
                if before < self._silent_s <= life.silent_s:
                    hung.append(name)
        return hung

"""Detection of hanging processes: running, heartbeats received since their start, and none for too long."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

__all__ = ["LONGEST_LOOK_S", "SilenceWatch"]

LONGEST_LOOK_S = 5.0
"""What counts of the time between two looks: whoever was stopped itself meanwhile knows nothing of the others."""


@dataclass
class _Life:
    number: int
    heard: bool = False
    silent_s: float = 0.0


class SilenceWatch:
    """Silence of `silent_s` ends a life, of a process that was heard in it or that is stopped.

    A process without any heartbeat so far is still loading, for which there is no limit here.
    """

    def __init__(self, silent_s: float) -> None:
        self._silent_s = silent_s
        self._lives: dict[str, _Life] = {}

    def look(
        self, elapsed_s: float, lives: Mapping[str, int], heard: Collection[str], stopped: Collection[str] = ()
    ) -> list[str]:
        """Return the names of those that hang now, each once a life.

        elapsed_s: since the look before. lives: the process number of each that runs and could have been heard. heard:
        processes with a sign of life since; stopped: those that a signal keeps from running.
        """
        hung = []
        for name, number in lives.items():
            life = self._lives.get(name)
            if life is None or life.number != number:
                life = self._lives[name] = _Life(number)
            if name in heard:
                life.heard, life.silent_s = True, 0.0
            elif life.heard or name in stopped:
                before, life.silent_s = life.silent_s, life.silent_s + min(elapsed_s, LONGEST_LOOK_S)
                if before < self._silent_s <= life.silent_s:
                    hung.append(name)
        return hung

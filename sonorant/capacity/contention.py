"""An example's cost in a stage whose replicas share cores, without the waits that more replicas would lengthen.

A replica is busy for w = c / g + i + q seconds per example: CPU time c on the g cores that it is granted, waits i for
storage, and waits q for cores in use by others. More replicas make up for c / g and i; q grows with them, so a plan by
w feeds back on itself. One measurement cannot tell i from q. But i does not depend on the number of replicas: the
least wait per example within `memory_s` estimates it.
"""

from collections import defaultdict, deque

from sonorant.capacity.measurements import Cost

__all__ = ["Contention"]


class Contention:
    """Waits of each stage over the last `memory_s` seconds; a state machine, time passed in.

    A wait that lasts longer counts as the stage's own: storage may have become slower permanently.
    """

    def __init__(self, memory_s: float) -> None:
        self._memory_s = memory_s
        self._waits: defaultdict[str, deque[tuple[float, float]]] = defaultdict(deque)  # rising in time and in seconds

    def note(self, stage: str, cost: Cost, now_s: float) -> None:
        """Add an example's present cost in a stage."""
        waits = self._waits[stage]
        while waits and waits[-1][1] >= cost.waits_s:
            waits.pop()
        waits.append((now_s, cost.waits_s))
        while waits[0][0] < now_s - self._memory_s:
            waits.popleft()

    def service_s(self, stage: str, cost: Cost, cores: float) -> float:
        """Return the seconds of one replica per example that more replicas can compensate, as of the last `note`.

        cores: granted to a replica; its one thread uses no more than 1.
        """
        granted = min(1.0, cores)
        waits = self._waits[stage]
        own_s = waits[0][1] if waits else 0.0
        return min(cost.busy_s, cost.cpu_s / granted + own_s) if granted > 0 else cost.busy_s

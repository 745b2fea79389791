"""What an example costs a stage whose replicas share cores: without the waits that more replicas would only lengthen.

A replica is busy for w = c / g + i + q seconds per example: CPU time c on the g cores that it is granted, waits i for
storage, and waits q for cores that others have. More replicas make up for c / g and i; q grows with them, so a plan by
w feeds back on itself. One measurement cannot tell i from q. But i is there however few replicas there are: the least
wait per example in the last while stands for it.
"""

from collections import defaultdict, deque

from sonorant.capacity.measurements import Cost

__all__ = ["Contention"]


class Contention:
    """Waits of each stage over the last `memory_s` seconds; a plain machine, time passed in.

    A wait that stays longer than that is taken for the stage's own: storage may have become slower for good.
    """

    def __init__(self, memory_s: float) -> None:
        self._memory_s = memory_s
        self._waits: defaultdict[str, deque[tuple[float, float]]] = defaultdict(deque)  # rising in time and in seconds

    def note(self, stage: str, cost: Cost, now_s: float) -> None:
        """Take in what an example costs a stage now."""
        waits = self._waits[stage]
        while waits and waits[-1][1] >= cost.waits_s:
            waits.pop()
        waits.append((now_s, cost.waits_s))
        while waits[0][0] < now_s - self._memory_s:
            waits.popleft()

    def service_s(self, stage: str, cost: Cost, cores: float) -> float:
        """Return the seconds of one replica per example that more replicas can make up for, as of the last `note`.

        cores: granted to a replica; its one thread uses no more than 1.
        """
        granted = min(1.0, cores)
        waits = self._waits[stage]
        own_s = waits[0][1] if waits else 0.0
        return min(cost.busy_s, cost.cpu_s / granted + own_s) if granted > 0 else cost.busy_s

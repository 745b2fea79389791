"""Cores that the cluster gives: replicas that were asked for and do not come tell that it has no more."""

import math
from collections.abc import Mapping

__all__ = ["Supply"]


class Supply:
    """How many cores all stages together can have, from how many of their replicas are there; a plain machine.

    Where some have been missing for `patience_s`, the most cores that were there meanwhile are taken for all that there
    are, for `retry_s`; then it is tried whether there are more by now. A stage that is not there at all tells nothing:
    it may lack an image. Pods that wait harm nobody, but a chain that is sized for them is not equally fast everywhere.
    Nodes, their sizes and other tenants need not be known for that.
    """

    def __init__(self, patience_s: float, retry_s: float) -> None:
        self._patience_s = patience_s
        self._retry_s = retry_s
        self._missing_since_s: float | None = None
        self._most = 0.0  # cores that were there since then
        self._given = math.inf
        self._given_until_s = -math.inf

    def note(self, told: Mapping[str, int], there: Mapping[str, int], cores: Mapping[str, float], now_s: float) -> None:
        """Take in the replicas that each stage is told to have and those that are there, and the cores of one."""
        if now_s >= self._given_until_s:
            self._given = math.inf
        if not all(there.values()) or all(there[stage] >= count for stage, count in told.items()):
            self.begin_anew()
            return
        if self._missing_since_s is None:
            self._missing_since_s = now_s
        self._most = max(self._most, sum(cores[stage] * min(there[stage], count) for stage, count in told.items()))
        if now_s >= self._missing_since_s + self._patience_s:
            self._given, self._given_until_s = self._most, now_s + self._retry_s
            self.begin_anew()

    def begin_anew(self) -> None:
        """Have patience from the next `note` on: nothing is missing, or nobody could look."""
        self._missing_since_s, self._most = None, 0.0

    @property
    def cores(self) -> float:
        """Cores that may be taken, as of the last `note`; infinite where nothing is known to be missing."""
        return self._given

"""The cluster's supply of cores, inferred from requested replicas that do not start."""

import math
from collections.abc import Mapping

__all__ = ["Supply"]


class Supply:
    """Limit of the stages' cores, estimated from their present replicas; a state machine, time passed in.

    If some have been missing for `patience_s`, the most cores present meanwhile are the limit, for `retry_s`; then more
    are tried. A stage without any replica is no evidence: it may lack an image. Pending pods do no harm, but a chain
    sized for them is not balanced. The estimate needs no data of nodes, their sizes or other tenants.
    """

    def __init__(self, patience_s: float, retry_s: float) -> None:
        self._patience_s = patience_s
        self._retry_s = retry_s
        self._missing_since_s: float | None = None
        self._most = 0.0  # cores present since then
        self._given = math.inf
        self._given_until_s = -math.inf

    def note(
        self, desired: Mapping[str, int], present: Mapping[str, int], cores: Mapping[str, float], now_s: float
    ) -> None:
        """Note the desired and present replicas of each stage, and the cores of one."""
        if now_s >= self._given_until_s:
            self._given = math.inf
        if not all(present.values()) or all(present[stage] >= count for stage, count in desired.items()):
            self.begin_anew()
            return
        if self._missing_since_s is None:
            self._missing_since_s = now_s
        self._most = max(self._most, sum(cores[stage] * min(present[stage], count) for stage, count in desired.items()))
        if now_s >= self._missing_since_s + self._patience_s:
            self._given, self._given_until_s = self._most, now_s + self._retry_s
            self.begin_anew()

    def begin_anew(self) -> None:
        """Restart the patience at the next `note`: nothing is missing, or measurements are."""
        self._missing_since_s, self._most = None, 0.0

    @property
    def cores(self) -> float:
        """Limit of cores, as of the last `note`; infinite unless replicas are missing."""
        return self._given

"""Who leads, among autoscalers that share a lease: a machine without a cluster.

As in client-go's leader election, nobody compares clocks. A lease counts as abandoned if *this* candidate has seen no
renewal of it for as long as the lease lasts, by its own monotonic clock; and a leader that could not renew in time
stops before that. So clocks may differ by any amount, if only they run equally fast.
"""

from typing import NamedTuple

__all__ = ["Election", "LeaseRecord"]

_RENEW_SHARE = 2 / 3  # of a lease's time, in which a leader must renew it to go on


class LeaseRecord(NamedTuple):
    """A lease as it was found: who holds it ("": nobody), for how long, and what changes with every renewal."""

    holder: str
    lasts_s: float
    version: str


class Election:
    """One candidate; times are its monotonic seconds."""

    def __init__(self, identity: str, lease_s: float) -> None:
        self.identity = identity
        self._renew_s = lease_s * _RENEW_SHARE
        self._seen: LeaseRecord | None = None
        self._seen_s = 0.0
        self._leads_until_s = float("-inf")

    def leads(self, now_s: float) -> bool:
        """Whether this candidate may act."""
        return now_s < self._leads_until_s

    def may_take(self, found: LeaseRecord | None, now_s: float) -> bool:
        """Take note of the lease, and return whether to write one's own name into it; None: there is no lease."""
        if found is None or not found.holder:
            return True
        if found != self._seen:
            self._seen, self._seen_s = found, now_s
        return found.holder == self.identity or now_s >= self._seen_s + found.lasts_s

    def took(self, sent_s: float) -> None:
        """Take note that the lease was written; `sent_s`: before that was asked for."""
        self._leads_until_s = sent_s + self._renew_s

    def lost(self) -> None:
        """Take note that somebody else has the lease."""
        self._leads_until_s = float("-inf")

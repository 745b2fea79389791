"""Leader election among autoscalers that share a lease: a state machine, time passed in.

As in client-go's leader election, no clocks are compared. A lease has expired if *this* candidate has seen no renewal
for the lease's duration, by its own monotonic clock; a leader that could not renew in time stops before that. So clocks
may differ by any offset, if they run at the same rate.
"""

from typing import NamedTuple

__all__ = ["Election", "LeaseRecord"]

_RENEW_SHARE = 2 / 3  # of a lease's time, in which a leader must renew it to go on


class LeaseRecord(NamedTuple):
    """A lease as read: holder ("": none), duration in seconds, and the version that every renewal changes."""

    holder: str
    lasts_s: float
    version: str


class Election:
    """One candidate; times are seconds of its monotonic clock."""

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
        """Note the lease as read, and return whether to write this candidate into it; None: there is no lease."""
        if found is None or not found.holder:
            return True
        if found != self._seen:
            self._seen, self._seen_s = found, now_s
        return found.holder == self.identity or now_s >= self._seen_s + found.lasts_s

    def took(self, sent_s: float) -> None:
        """Note that the lease was written; `sent_s`: time before the request."""
        self._leads_until_s = sent_s + self._renew_s

    def lost(self) -> None:
        """Note that another candidate holds the lease."""
        self._leads_until_s = float("-inf")

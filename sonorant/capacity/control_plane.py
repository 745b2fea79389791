"""Capacity of the parts that cannot be replicated: Redis, the coordinator, a process' link thread.

Figures are those of `sonorant bench control`, `links` and `pipeline`, on cores of some 3 GHz.
"""

from dataclasses import dataclass

from sonorant.capacity.sizing import Bounds, StageCost
from sonorant.fleet.registry import MOST_BEATS

__all__ = ["COORDINATOR", "LINK_BYTES_PER_S", "MOST_LINKS", "OVERHEAD_S", "REDIS", "ControlPlane", "control_plane"]

COORDINATOR, REDIS = "coordinator", "redis"
LINK_BYTES_PER_S = 2.5e9  # that one thread receives or sends: messages of 2 MB cost both ends 0.78 s a gigabyte
OVERHEAD_S = 0.2e-3  # of a replica per example, however small: envelopes, credits
MOST_LINKS = 16_000  # to replicas of the stage before: a link takes 4 open files, and usually 65,536 are allowed

_CLAIMS = 65_000.0  # examples claimed and committed in one second of Redis' thread
_BEATS = 2_200.0  # heartbeats, ...
_LEASES = 44_000.0  # examples leased, ...
_ARRIVALS = 120_000.0  # and arrivals noted in one second of the coordinator's core
_LEDGER_BYTES, _BOOK_BYTES = 0.14, 0.38  # in Redis and coordinator, for each example of the two epochs under way
_REDIS_MB, _COORDINATOR_MB = 30.0, 120.0  # of the processes themselves


@dataclass(frozen=True)
class ControlPlane:
    """Load of Redis and coordinator, as shares of one core each; neither uses a second one.

    heartbeat_s: time between two heartbeats of a replica, which grows with the fleet.
    """

    redis_cores: float
    redis_mb: float
    claims_per_s: float
    coordinator_cores: float
    coordinator_mb: float
    heartbeats_per_s: float
    heartbeat_s: float

    def costs(self) -> tuple[StageCost, StageCost]:
        """Return coordinator and Redis as stages that every example passes, and that cannot grow."""
        left = 1.0 - self.heartbeats_per_s / _BEATS
        lease_s = (1 / _LEASES + 1 / _ARRIVALS) / left
        one = Bounds(most=1, cores=0.0)  # of the stages' cores
        return StageCost(COORDINATOR, lease_s, bounds=one), StageCost(REDIS, 1 / _CLAIMS, bounds=one)


def control_plane(rate: float, replicas: int, heartbeat_s: float, examples: float) -> ControlPlane:
    """Return the load at `rate` examples per second, with so many replicas and ranks, and `examples` in an epoch."""
    heartbeat_s = max(heartbeat_s, replicas / MOST_BEATS)
    beats = replicas / heartbeat_s
    return ControlPlane(
        redis_cores=rate / _CLAIMS,
        redis_mb=_REDIS_MB + 2 * _LEDGER_BYTES * examples / 1e6,
        claims_per_s=rate,
        coordinator_cores=beats / _BEATS + rate / _LEASES + rate / _ARRIVALS,
        coordinator_mb=_COORDINATOR_MB + 2 * _BOOK_BYTES * examples / 1e6,
        heartbeats_per_s=beats,
        heartbeat_s=heartbeat_s,
    )

"""Replicas of a stage that compute other bits than its others do: found by the checksums with which they register."""

from collections import defaultdict
from collections.abc import Collection

import structlog

__all__ = ["ArithmeticWatch"]

log = structlog.get_logger()

_MOST = 64  # of a stage's checksums: each is logged once


class ArithmeticWatch:
    """The checksums (`sonorant.augment.probe`) of each of `stages`, of past and present replicas."""

    def __init__(self, stages: Collection[str]) -> None:
        self._stages = frozenset(stages)
        self._known: dict[str, set[str]] = defaultdict(set)

    def registered(self, stage: str, replica: str, checksum: str) -> None:
        """Note a replica's checksum (empty: none); log the first replica of each that differs within a stage."""
        known = self._known[stage] if stage in self._stages else None
        if not checksum or known is None or checksum in known or len(known) >= _MOST:
            return
        if known:
            log.warning("bits_differ", stage=stage, replica=replica, found=checksum, others=sorted(known))
        known.add(checksum)

"""What the parts of a replica share, built before any of them: identity, loop, client of the coordinator."""

from dataclasses import dataclass

import structlog

from services.coordination.client import CoordinatorClient
from services.coordination.meter import Meter
from services.links.loop import LinkLoop
from services.links.sockets import link_context
from sonorant.delivery.example import Lineage
from sonorant.errors import SonorantError
from sonorant.v1 import coordinator_pb2 as pb

__all__ = ["Replica", "Runtime"]

log = structlog.get_logger()


@dataclass(frozen=True)
class Replica:
    """A process's identity and addresses.

    port: to serve at; 0 takes a free one. lane_names: of its lanes, by which consumers request them.
    stays: whether it waits for work after the end of the run. arithmetic: its checksum (`augment.probe`).
    """

    stage: str
    name: str
    coordinator: str
    host: str = "127.0.0.1"
    port: int = 0
    lane_names: tuple[str, ...] = ("",)
    stays: bool = False
    arithmetic: str = ""

    def registration(self, endpoint: str) -> pb.RegisterRequest:
        """Return its registration; endpoint: of its links."""
        return pb.RegisterRequest(stage=self.stage, replica=self.name, endpoint=endpoint, arithmetic=self.arithmetic)


class Runtime:
    """Meter, coordinator client, loop and socket context of one replica; nothing runs yet."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.meter = Meter()
        self.client = CoordinatorClient(replica.coordinator, replica.name, self.meter, stays=replica.stays)
        self.loop = LinkLoop()
        self.context = link_context()

    def reject(self, lineage: Lineage, utterance: str, stage: str, error: Exception) -> None:
        """Report an example that cannot be processed; the epoch continues without it."""
        expected = isinstance(error, SonorantError)
        self.meter.rejected()
        reason = str(error) if expected else f"{type(error).__name__}: {error}"
        trace = None if expected else error
        log.warning("example_rejected", utterance=utterance, lineage=lineage, at=stage, reason=reason, exc_info=trace)
        self.client.reject(lineage, utterance, stage, reason)

"""A stage's source: the replicas of the stage before it."""

import time
from collections import deque
from collections.abc import Sequence

import zmq

from services.links.loop import Links
from services.links.upstream import UpstreamLinks
from services.process.keys import process_keys
from services.stage.replica import StageReplica
from sonorant.delivery.example import Example
from sonorant.recipe.pipeline import PipelineRecipe

__all__ = ["LinkSource"]


class LinkSource:
    """Pulls examples of `stream` from the replicas of `stage`, at most `pipeline.credits` at a time."""

    def __init__(self, stage: str, pipeline: PipelineRecipe, stream: str = "") -> None:
        self._stage = stage
        self._stream = stream
        self._pipeline = pipeline
        self._inbox: deque[Example] = deque()
        self._withdrawn = False

    def links(self, context: zmq.Context[zmq.Socket[bytes]]) -> Sequence[Links]:
        """Return the links to the stage before."""
        self._upstream = UpstreamLinks(
            context,
            self._inbox.append,
            dead_after_s=self._pipeline.dead_after_s,
            max_example_bytes=int(self._pipeline.max_example_mb * 1e6),
            on_broken=lambda: self._client.link_broke(),
            curve=process_keys().curve,
            stream=self._stream,
        )
        return [self._upstream]

    def start(self, replica: StageReplica) -> None:
        """Connect to whoever there is, and grant credit."""
        self._loop, self._client = replica.loop, replica.client
        self._upstream.release(self._pipeline.credits)
        replica.client.watch(self._stage, self._on_endpoints)

    def take(self) -> Example | None:
        """Return the next example that is here, or None."""
        return self._inbox.popleft() if self._inbox else None

    @property
    def ended(self) -> bool:
        """Whether `take` will return no example any more."""
        return self._withdrawn and not self._inbox

    def waiting(self) -> int:
        """Return the number of examples that wait to be taken."""
        return len(self._inbox)

    def release(self) -> None:
        """Note that an example has left the replica: there is room for another."""
        self._upstream.release(1)

    def stop(self) -> None:
        """Take back all credit; what is under way still comes."""
        self._upstream.withdraw(self._on_withdrawn, time.monotonic())

    def close(self) -> None:
        """Do nothing: the loop closes the links."""

    def _on_withdrawn(self) -> None:
        self._withdrawn = True

    def _on_endpoints(self, endpoints: list[str]) -> None:
        self._loop.post(lambda: self._upstream.list_endpoints(endpoints, time.monotonic()))

"""A stage's source: the replicas of the stage before it."""

import time
from collections.abc import Sequence
from queue import SimpleQueue

import zmq

from services.runtime.link_loop import Links
from services.runtime.stage import StageReplica
from services.runtime.upstream import UpstreamLinks
from sonorant.pipeline.example import Example
from sonorant.recipe.pipeline import PipelineRecipe

__all__ = ["LinkSource"]


class LinkSource:
    """Pulls examples from the replicas of `stage`, at most `pipeline.credits` at a time."""

    def __init__(self, stage: str, pipeline: PipelineRecipe) -> None:
        self._stage = stage
        self._pipeline = pipeline
        self._inbox: SimpleQueue[Example | None] = SimpleQueue()
        self._abandoned = False

    def links(self, context: zmq.Context[zmq.Socket[bytes]]) -> Sequence[Links]:
        """Return the links to the stage before."""
        self._upstream = UpstreamLinks(
            context,
            self._inbox.put,
            dead_after_s=self._pipeline.dead_after_s,
            max_example_bytes=int(self._pipeline.max_example_mb * 1e6),
            on_broken=lambda: self._client.link_broke(),
        )
        return [self._upstream]

    def start(self, replica: StageReplica) -> None:
        """Connect to whoever there is, and grant credit."""
        self._loop, self._client = replica.loop, replica.client
        self._loop.post(lambda: self._upstream.release(self._pipeline.credits))
        replica.client.watch(self._stage, self._on_endpoints)

    def take(self) -> Example | None:
        """Wait for the next example; None: none will come any more."""
        if self._abandoned:
            return None
        example = self._inbox.get()
        return None if self._abandoned else example

    def waiting(self) -> int:
        """Return the number of examples that wait to be taken."""
        return self._inbox.qsize()

    def release(self) -> None:
        """Note that an example has left the replica: there is room for another."""
        self._loop.post(lambda: self._upstream.release(1))

    def stop(self) -> None:
        """Take back all credit; what is under way still comes, and then `take` returns None."""
        self._loop.post(lambda: self._upstream.withdraw(lambda: self._inbox.put(None), time.monotonic()))

    def abandon(self) -> None:
        """Let `take` return None at once."""
        self._abandoned = True
        self._inbox.put(None)

    def _on_endpoints(self, endpoints: list[str]) -> None:
        self._loop.post(lambda: self._upstream.list_endpoints(endpoints, time.monotonic()))

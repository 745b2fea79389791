"""A stage's source: the replicas of the stage before it."""

import time
from collections import deque

from services.links.upstream import UpstreamLinks
from services.process.keys import process_keys
from services.stage.runtime import Runtime
from sonorant.delivery.example import Example
from sonorant.recipe.pipeline import PipelineRecipe

__all__ = ["LinkSource"]


class LinkSource:
    """Pulls examples of `stream` from the replicas of `stage`, at most `pipeline.credits` at a time."""

    def __init__(self, runtime: Runtime, stage: str, pipeline: PipelineRecipe, stream: str = "") -> None:
        self._client, self._loop = runtime.client, runtime.loop
        self._stage = stage
        self._credits = pipeline.credits
        self._inbox: deque[Example] = deque()
        self._withdrawn = False
        self._upstream = UpstreamLinks(
            runtime.context,
            self._inbox.append,
            dead_after_s=pipeline.dead_after_s,
            max_example_bytes=int(pipeline.max_example_mb * 1e6),
            on_broken=self._client.link_broke,
            curve=process_keys().curve,
            stream=stream,
        )
        self.links = (self._upstream,)

    def start(self) -> None:
        """Connect to whoever there is, and grant credit."""
        self._upstream.release(self._credits)
        self._client.watch(self._stage, self._on_endpoints)

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

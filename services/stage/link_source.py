"""A stage's source: the replicas of the stage before it."""

import time
from collections import deque

from services.links.consumer import ConsumerLinks
from services.process.keys import process_keys
from services.stage.runtime import Runtime
from sonorant.delivery.example import Example
from sonorant.recipe.pipeline import PipelineRecipe

__all__ = ["LinkSource"]


class LinkSource:
    """Pulls examples of a lane from the replicas of `stage`, at most `pipeline.credits` at a time."""

    def __init__(self, runtime: Runtime, stage: str, pipeline: PipelineRecipe, lane_name: str = "") -> None:
        self._client, self._loop = runtime.client, runtime.loop
        self._stage = stage
        self._credits = pipeline.credits
        self._inbox: deque[Example] = deque()
        self._drained = False
        self._inlet = ConsumerLinks(
            runtime.context,
            self._inbox.append,
            dead_after_s=pipeline.dead_after_s,
            max_example_bytes=int(pipeline.max_example_mb * 1e6),
            on_broken=self._client.link_broke,
            curve=process_keys().curve,
            lane_name=lane_name,
        )
        self.links = (self._inlet,)

    def start(self) -> None:
        """Watch the producers' endpoints, connect to each, grant credit."""
        self._inlet.release(self._credits)
        self._client.watch(self._stage, self._on_endpoints)

    def take(self) -> Example | None:
        """Return the next example that is here, or None."""
        return self._inbox.popleft() if self._inbox else None

    @property
    def ended(self) -> bool:
        """Whether `take` will return no example any more."""
        return self._drained and not self._inbox

    def waiting(self) -> int:
        """Return the number of examples that wait to be taken."""
        return len(self._inbox)

    def release(self) -> None:
        """Free the slot of an example that has left the replica."""
        self._inlet.release(1)

    def drain(self) -> None:
        """Recall all credit; what is under way still comes."""
        self._inlet.drain(self._on_drained, time.monotonic())

    def close(self) -> None:
        """Do nothing: the loop closes the links."""

    def _on_drained(self) -> None:
        self._drained = True

    def _on_endpoints(self, endpoints: list[str]) -> None:
        self._loop.post(lambda: self._inlet.list_endpoints(endpoints, time.monotonic()))

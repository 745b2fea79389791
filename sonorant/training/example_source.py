"""Where a rank's examples come from."""

from typing import Protocol

from sonorant.delivery.example import Example

__all__ = ["ExampleSource"]


class ExampleSource(Protocol):
    """The rank's end of the pipeline, a consumer with credit; one thread calls it."""

    def take(self, timeout_s: float) -> list[Example]:
        """Return what has arrived; waits up to `timeout_s` if that is nothing."""
        ...

    def grant(self, count: int) -> None:
        """Grant credit for `count` more examples."""
        ...

    def drained(self, epoch: int) -> bool:
        """Whether every example of the epoch was taken, by some rank, or is settled: `take` brings no more of it."""
        ...

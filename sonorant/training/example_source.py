"""The source of a rank's examples: its contract."""

from typing import Protocol

from sonorant.delivery.example import Example

__all__ = ["ExampleSource"]


class ExampleSource(Protocol):
    """The rank's end of the pipeline, a consumer with credit; one thread calls it."""

    def take(self, timeout_s: float) -> list[Example]:
        """Return the examples that have arrived; waits up to `timeout_s` for the first."""
        ...

    def grant(self, count: int) -> None:
        """Grant credit for `count` more examples."""
        ...

    def drained(self, epoch: int) -> bool:
        """Whether every example of the epoch has been taken by some rank or is settled: `take` returns none of it."""
        ...

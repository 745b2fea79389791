"""Contract of a stage's source of examples."""

from collections.abc import Sequence
from typing import Protocol

from services.links.loop import Links
from sonorant.delivery.example import Example
from sonorant.errors import Unavailable

__all__ = ["MACHINE_FAILED", "Source"]

MACHINE_FAILED = (OSError, MemoryError, Unavailable)
"""Errors of this replica's machine, not of the example: retried here, then on another replica."""


class Source(Protocol):
    """Where a stage's examples come from. Only the loop's thread calls it; any thread may call `waiting`."""

    @property
    def links(self) -> Sequence[Links]:
        """The links that the loop must serve."""
        ...

    def start(self) -> None:
        """Begin to pull examples; the loop runs."""
        ...

    def take(self) -> Example | None:
        """Return an example that is here; None: there is none now. The loop is woken when that changes.

        May raise `MACHINE_FAILED`; then the next call is another try.
        """
        ...

    @property
    def ended(self) -> bool:
        """Whether `take` will return no example any more."""
        ...

    def waiting(self) -> int:
        """Return the number of examples that wait to be taken."""
        ...

    def release(self) -> None:
        """Note that an example that was taken has left the replica."""
        ...

    def drain(self) -> None:
        """Take in nothing new; `take` still returns what is here."""
        ...

    def close(self) -> None:
        """Drop what is still here."""
        ...

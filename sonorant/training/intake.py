"""The intake's contract: from arriving examples to batches, epoch by epoch, a state machine without threads.

Events in, actions out. In each iteration the feeder grants `credits`, polls the source once, passes arrivals on
(`arrived`), and carries out `next_action`. The orders of `pipeline.order` are implementations of `Intake`:
`fast_intake.FastIntake` draws from all arrivals, `strict_intake.StrictIntake` in an order that follows from the
seed. An arrival is an example with its targets (`Labelled`), or `Rejected` where it cannot be trained on; both use one
credit.

`drained`, in the methods below, is `ExampleSource.drained` of the current epoch before the poll.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from sonorant.training.pool import Labelled

__all__ = ["Action", "Arrival", "AskLedger", "EndEpoch", "Form", "Intake", "Rejected", "Wait"]


class Rejected(NamedTuple):
    """An example that arrived and cannot be trained on."""

    epoch: int
    ordinal: int


Arrival: TypeAlias = Labelled | Rejected


@dataclass(frozen=True)
class Form:
    """There is a batch: `Intake.form` it."""


@dataclass(frozen=True)
class EndEpoch:
    """The current epoch has no further batch: go on to the `Intake.next_epoch`."""


@dataclass(frozen=True)
class AskLedger:
    """The next batch waits for `ordinals` of the current epoch: call `skip` with those that the ledger has rejected."""

    ordinals: list[int]
    skip: Callable[[Sequence[int]], None]


@dataclass(frozen=True)
class Wait:
    """The intake needs more arrivals."""


Action: TypeAlias = Form | EndEpoch | AskLedger | Wait


class Intake(Protocol):
    """Sorts one rank's examples by epoch, grants credit, and forms batches."""

    @property
    def epoch(self) -> int:
        """The current epoch."""
        ...

    @property
    def batches(self) -> int:
        """Batches formed in the current epoch, also before a restart: the next one's number."""
        ...

    @property
    def ready(self) -> bool:
        """Whether a batch can be formed without another arrival."""
        ...

    def pool(self) -> list[Labelled]:
        """Return the examples that the next batch is drawn from, shortest first."""
        ...

    def credits(self, drained: bool) -> int:
        """Return how many credits to grant now; they count as granted."""
        ...

    def arrived(self, arrivals: Sequence[Arrival]) -> None:
        """Add the arrivals of one poll, perhaps none; examples of a past epoch are dropped.

        An epoch ends, and the ledger is queried, only after a poll without arrivals.
        """
        ...

    def next_action(self, drained: bool) -> Action:
        """Return the next action; the state changes when it is carried out."""
        ...

    def form(self) -> list[Labelled]:
        """Remove and return the next batch."""
        ...

    def next_epoch(self) -> None:
        """Make the next epoch the current one; its early arrivals are added."""
        ...

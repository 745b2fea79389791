"""The intake's contract: from arriving examples to batches, one epoch after the other, as a machine without threads.

Events in, actions out. In each iteration the feeder grants `credits`, polls the source once, hands on what came
(`arrived`), and does `next_action`. All that differs between the orders of `pipeline.order` is behind `Intake`:
`fast_intake.FastIntake` draws from what has arrived, `strict_intake.StrictIntake` in an order that follows from the
seed. An arrival is an example with its targets (`Labelled`), or `Rejected` where it cannot be trained on; both use one
credit.

`drained`, in the methods below, is what `ExampleSource.drained` said of the current epoch before the poll.
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
    """Nothing can be done before more examples arrive."""


Action: TypeAlias = Form | EndEpoch | AskLedger | Wait


class Intake(Protocol):
    """Sorts one rank's examples by epoch, bounds by credit how many may come, and forms batches."""

    @property
    def epoch(self) -> int:
        """The current epoch."""
        ...

    @property
    def batches(self) -> int:
        """Batches that were formed in the current epoch, by ranks before a restart too: the next one's number."""
        ...

    @property
    def ready(self) -> bool:
        """Whether a batch can be formed without another arrival."""
        ...

    def pool(self) -> list[Labelled]:
        """Return what the next batch would be drawn from, shortest first."""
        ...

    def credits(self, drained: bool) -> int:
        """Return how many credits to grant now; they count as granted."""
        ...

    def arrived(self, arrivals: Sequence[Arrival]) -> None:
        """Take in what one poll of the source brought, perhaps nothing; examples of an epoch that is over are dropped.

        An epoch ends, and the ledger is asked, only after a poll that brought nothing.
        """
        ...

    def next_action(self, drained: bool) -> Action:
        """Return what to do; nothing changes before it is done."""
        ...

    def form(self) -> list[Labelled]:
        """Remove and return the next batch."""
        ...

    def next_epoch(self) -> None:
        """Make the next epoch the current one; what came early for it is taken in."""
        ...

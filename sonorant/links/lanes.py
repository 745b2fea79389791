"""Lanes: outboxes side by side, where each example may go to some consumers only."""

from typing import Generic, TypeVar

from sonorant.delivery.example import Lineage
from sonorant.links.credit import Backlog, Outbox, Send

__all__ = ["Lanes", "lane_of"]

Peer = TypeVar("Peer")
Item = TypeVar("Item")


def lane_of(lineage: Lineage, lanes: int) -> int:
    """Return the lane that an example takes in every epoch; neighbours, leased together, take them in turn."""
    return (lineage.shard + lineage.index) % lanes


class Lanes(Generic[Peer, Item]):
    """As many outboxes as there are lanes; a consumer stands at one. See `Outbox` for what each method does."""

    def __init__(self, count: int) -> None:
        self._lanes: tuple[Outbox[Peer, Item], ...] = tuple(Outbox() for _ in range(count))
        self._of: dict[Peer, Outbox[Peer, Item]] = {}

    def __len__(self) -> int:
        """Return the number of examples that wait in any lane."""
        return sum(map(len, self._lanes))

    def __contains__(self, consumer: Peer) -> bool:
        """Whether a consumer is known."""
        return consumer in self._of

    @property
    def consumers(self) -> frozenset[Peer]:
        """The consumers that are known."""
        return frozenset(self._of)

    def offer(self, item: Item, lane: int) -> None:
        """Add an example to send to a consumer of `lane`."""
        self._lanes[lane].offer(item)

    def join(self, consumer: Peer, lane: int) -> None:
        """Note a new consumer of `lane`, or one that begins again; it has no credit yet."""
        self.leave(consumer)
        self._of[consumer] = self._lanes[lane]
        self._lanes[lane].join(consumer)

    def leave(self, consumer: Peer) -> None:
        """Forget a consumer and its credit."""
        if (lane := self._of.pop(consumer, None)) is not None:
            lane.leave(consumer)

    def on_grant(self, consumer: Peer, count: int) -> bool:
        """Note credits; return False if nobody of that name is known."""
        return consumer in self._of and self._of[consumer].on_grant(consumer, count)

    def on_recall(self, consumer: Peer) -> int:
        """Take all unused credits from a consumer; return how many go back to it."""
        return self._of[consumer].on_recall(consumer) if consumer in self._of else 0

    def unsent(self, consumer: Peer, item: Item, lane: int) -> None:
        """Put an item back to the front of its lane, and forget the consumer that could not be reached."""
        self.leave(consumer)
        self._lanes[lane].unsent(consumer, item)

    def next_send(self) -> Send[Peer, Item] | None:
        """Return the next thing to send in any lane."""
        for lane in self._lanes:
            if send := lane.next_send():
                return send
        return None

    def backlogs(self) -> list[Backlog[Peer]]:
        """Return what consumers should learn about their lane."""
        return [notice for lane in self._lanes for notice in lane.backlogs()]

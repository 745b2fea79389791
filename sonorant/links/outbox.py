"""The producer's side of flow control: items that wait, lanes, and each consumer's credit. Events in, actions out.

Each item may go to the consumers of its lane only. Lanes share nothing: an item without credit holds up no other lane
(head-of-line blocking).
"""

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

from sonorant.links.wire import BUNDLE_BYTES

__all__ = ["Backlog", "Bundle", "Outbox", "Sendable"]

_BUNDLE_EXAMPLES = 64


class Sendable(Protocol):
    """An item of an outbox."""

    @property
    def size(self) -> int:
        """Bytes of its message."""
        ...

    @property
    def lane(self) -> int:
        """The lane whose consumers may receive it."""
        ...


Peer = TypeVar("Peer", bound=Hashable)
Item = TypeVar("Item", bound=Sendable)


@dataclass(slots=True)
class Bundle(Generic[Peer, Item]):
    """Send `items` to `consumer` in one message, while `waiting` others wait in their lane. size: their bytes."""

    consumer: Peer
    items: list[Item] = field(default_factory=list)
    size: int = 0
    waiting: int = 0


class Backlog(NamedTuple, Generic[Peer]):
    """Announce to `consumer` the examples that wait here without credit."""

    consumer: Peer
    waiting: int


@dataclass(slots=True)
class _Consumer:
    credit: int = 0
    announced: bool = False  # that examples wait
    last_sent: int = 0  # number of the last item for it, among all

    def before(self, other: "_Consumer") -> bool:
        """Send priority: more credit, then less recently sent to."""
        return self.credit > other.credit or (self.credit == other.credit and self.last_sent < other.last_sent)


@dataclass(slots=True)
class _Lane(Generic[Peer, Item]):
    items: deque[Item] = field(default_factory=deque)
    consumers: dict[Peer, _Consumer] = field(default_factory=dict)


class Outbox(Generic[Peer, Item]):
    """Items that wait in `lanes` lanes; a consumer belongs to one of them.

    Small items for the same consumer share a message, 64 and `BUNDLE_BYTES` at most; none waits for others to come.
    """

    def __init__(self, lanes: int = 1) -> None:
        self._lanes: tuple[_Lane[Peer, Item], ...] = tuple(_Lane() for _ in range(lanes))
        self._of: dict[Peer, _Lane[Peer, Item]] = {}
        self._last_sent = 0

    def __len__(self) -> int:
        """Return the number of items that wait in any lane."""
        return sum([len(lane.items) for lane in self._lanes])

    def __contains__(self, consumer: Peer) -> bool:
        """Whether a consumer has joined."""
        return consumer in self._of

    @property
    def consumers(self) -> frozenset[Peer]:
        """The consumers that have joined."""
        return frozenset(self._of)

    def offer(self, item: Item) -> None:
        """Add an item to send."""
        self._lanes[item.lane].items.append(item)

    def join(self, consumer: Peer, lane: int = 0) -> None:
        """Note a new consumer of `lane`, or one that begins again; it has no credit yet."""
        self.leave(consumer)
        self._of[consumer] = self._lanes[lane]
        self._lanes[lane].consumers[consumer] = _Consumer()

    def leave(self, consumer: Peer) -> None:
        """Forget a consumer and its credit."""
        if (lane := self._of.pop(consumer, None)) is not None:
            del lane.consumers[consumer]

    def on_grant(self, consumer: Peer, count: int) -> None:
        """Note credits of a consumer; without effect if it has not joined."""
        if (lane := self._of.get(consumer)) is not None:
            lane.consumers[consumer].credit += count

    def on_recall(self, consumer: Peer) -> int:
        """Take all unused credits from a consumer; return how many go back to it."""
        if (lane := self._of.get(consumer)) is None:
            return 0
        found = lane.consumers[consumer]
        unused, found.credit = found.credit, 0
        return unused

    def bundles(self) -> list[Bundle[Peer, Item]]:
        """Take out all items that have credit, for the consumer with most credit first, then least recently sent to."""
        bundles: list[Bundle[Peer, Item]] = []
        for lane in self._lanes:
            if lane.items:
                self._fill(bundles, lane)
        return bundles

    def unsent(self, bundles: Sequence[Bundle[Peer, Item]]) -> None:
        """Put back what could not be sent, each to the front of its lane; forget the consumers of these bundles."""
        for bundle in reversed(bundles):
            self.leave(bundle.consumer)
            self._lanes[bundle.items[0].lane].items.extendleft(reversed(bundle.items))

    def backlogs(self) -> list[Backlog[Peer]]:
        """Return changes of backlogs to announce; call it when there are no bundles.

        The end of a backlog is announced with the next credit, not earlier; the consumer recalls credit that was
        granted for it when other producers lack it.
        """
        changes = []
        for lane in self._lanes:
            waiting = len(lane.items)
            for peer, consumer in lane.consumers.items():
                if bool(waiting) != consumer.announced and (waiting or consumer.credit):
                    consumer.announced = bool(waiting)
                    changes.append(Backlog(peer, waiting))
        return changes

    def _fill(self, bundles: list[Bundle[Peer, Item]], lane: _Lane[Peer, Item]) -> None:
        latest: dict[Peer, Bundle[Peer, Item]] = {}
        items = lane.items
        while items:
            richest = None
            for other, consumer in lane.consumers.items():
                if consumer.credit and (richest is None or consumer.before(richest)):
                    peer, richest = other, consumer
            if richest is None:
                return
            self._last_sent += 1
            richest.credit -= 1
            richest.last_sent = self._last_sent
            item = items.popleft()
            richest.announced = bool(items)
            bundle = latest.get(peer)
            if bundle is None or len(bundle.items) == _BUNDLE_EXAMPLES or bundle.size + item.size > BUNDLE_BYTES:
                bundle = latest[peer] = Bundle(peer)
                bundles.append(bundle)
            bundle.items.append(item)
            bundle.size += item.size
            bundle.waiting = len(items)

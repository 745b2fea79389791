"""Credit-based flow control, the consumer's side. Events in, actions out; no sockets, no clock.

A consumer grants a credit for each of its free slots; a producer sends one example per credit. This is backpressure:
work goes to free consumers, and a consumer bounds what it holds.

Free slots are spread over all producers. A credit idle at one producer is missing at another; so a producer with a
backlog and no credit announces the backlog, and the consumer recalls idle credits. Messages of one link keep their
order: when a recall is answered, all examples sent before have arrived.
"""

import heapq
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

__all__ = ["Grant", "Grants", "Recall"]

_WORTH_A_MESSAGE = 4  # slots are granted when this times as many have come free as producers have credits
_BATCH, _BATCHES = 16, 8  # slots granted together, at most, and how many such grants the slots suffice for, at least

Peer = TypeVar("Peer", bound=Hashable)


class Grant(NamedTuple, Generic[Peer]):
    """Grant `producer` credit for so many `examples`."""

    producer: Peer
    examples: int


class Recall(NamedTuple, Generic[Peer]):
    """Request the credits that `producer` has not used."""

    producer: Peer


@dataclass(slots=True)
class _Producer:
    granted: int = 0
    waiting: int = 0  # its backlog, in examples, as announced last
    recalling: bool = False
    last_grant: int = 0  # its number among all

    @property
    def priority(self) -> tuple[bool, int, int]:
        """Grant priority: backlog exceeds credit, then least credit, then least recently granted."""
        return self.waiting <= self.granted, self.granted, self.last_grant


class Grants(Generic[Peer]):
    """Slots and credits of one consumer. Invariant: free + granted + held == slots given; held: came, not released."""

    def __init__(self) -> None:
        self._free = 0
        self._granted = 0
        self._last_grant = 0
        self._withdrawn = False
        self._changed = False  # since the last actions
        self._producers: dict[Peer, _Producer] = {}

    @property
    def granted(self) -> int:
        """Credits that producers have: examples that may still come."""
        return self._granted

    def release(self, count: int) -> None:
        """Note that `count` slots are free: new ones, or those of examples that were handed on."""
        self._free += count
        self._changed = True

    def join(self, producer: Peer) -> None:
        """Note a new producer, or one that begins again."""
        self.leave(producer)
        self._producers[producer] = _Producer()
        self._changed = True

    def leave(self, producer: Peer) -> None:
        """Note that nothing more comes from `producer`; its credits are free again."""
        gone = self._producers.pop(producer, None)
        if gone is not None:
            self._granted -= gone.granted
            self._free += gone.granted
            self._changed = True

    def on_examples(self, producer: Peer, count: int, waiting: int) -> bool:
        """Note examples that came, and how many others wait; return False if the credit was exceeded.

        The caller must drop them then.
        """
        sender = self._producers.get(producer)
        if sender is None or sender.granted < count:
            return False
        sender.granted -= count
        self._granted -= count
        sender.waiting = waiting
        self._changed = True
        return True

    def on_backlog(self, producer: Peer, waiting: int) -> None:
        """Note how many examples wait at `producer`."""
        if producer in self._producers:
            self._producers[producer].waiting = waiting
            self._changed = True

    def on_return(self, producer: Peer, count: int) -> bool:
        """Note the answer to a recall; return False if more came back than was given."""
        sender = self._producers.get(producer)
        if sender is None or not sender.recalling or count > sender.granted:
            return False
        sender.granted -= count
        sender.recalling = False
        self._granted -= count
        self._free += count
        self._changed = True
        return True

    def withdraw(self) -> None:
        """Grant nothing more, and recall unused credit."""
        self._withdrawn = self._changed = True

    def actions(self) -> list[Grant[Peer] | Recall[Peer]]:
        """Return grants and recalls to send now; call it after events."""
        if not self._changed:
            return []
        self._changed = False
        if self._withdrawn:
            return [self._recall(peer) for peer, p in self._producers.items() if p.granted and not p.recalling]
        return [*self._rebalance(), *self._spread()]

    @property
    def _starving(self) -> bool:
        """Whether examples wait at a producer without credit."""
        return any(p.waiting and not p.granted for p in self._producers.values())

    def _spread(self) -> list[Grant[Peer]]:
        """Grant free slots in batches: to a backlog at most its size, to other producers at most an equal share.

        A batch wakes a producer once for several examples. Free slots are collected until a fourth of the granted ones
        is free, unless a backlog has no credit. The batch shrinks with the circulating slots, those neither idle nor
        held.
        """
        if not self._free or (self._free * _WORTH_A_MESSAGE < self._granted and not self._starving):
            return []
        open_to = [(peer, p) for peer, p in self._producers.items() if not p.recalling]
        if not open_to:
            return []
        moving = self._free + sum(p.granted for p in self._producers.values() if p.waiting or p.recalling)
        batch = max(1, min(_BATCH, moving // _BATCHES))
        share = max(1, min(_BATCH, (self._free + self._granted) // max(_BATCHES, len(open_to))))
        first = [(p.priority, number) for number, (_, p) in enumerate(open_to)]
        heapq.heapify(first)
        counts: dict[Peer, int] = {}
        while self._free:
            number = first[0][-1]
            peer, producer = open_to[number]
            lacking = producer.waiting - producer.granted
            count = min(batch, lacking) if lacking > 0 else min(share, self._free)
            if count > self._free:
                break
            self._last_grant += 1
            self._free -= count
            self._granted += count
            producer.granted += count
            producer.last_grant = self._last_grant
            counts[peer] = counts.get(peer, 0) + count
            heapq.heapreplace(first, (producer.priority, number))
        return [Grant(peer, count) for peer, count in counts.items()]

    def _rebalance(self) -> list[Recall[Peer]]:
        """Recall idle credit, largest first, as far as producers without credit have a backlog for it."""
        needed = sum(min(p.waiting, _BATCH) for p in self._producers.values() if not p.granted)
        needed -= self._free + sum(p.granted for p in self._producers.values() if p.recalling)
        if needed <= 0:
            return []
        idle = [(peer, p) for peer, p in self._producers.items() if p.granted and not p.waiting and not p.recalling]
        recalls = []
        for peer, producer in sorted(idle, key=lambda entry: -entry[1].granted):
            recalls.append(self._recall(peer))
            needed -= producer.granted
            if needed <= 0:
                break
        return recalls

    def _recall(self, peer: Peer) -> Recall[Peer]:
        self._producers[peer].recalling = True
        return Recall(peer)

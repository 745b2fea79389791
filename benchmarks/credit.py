"""How long examples wait for credit in large fleets: one consumer and its producers, in steps of a millisecond.

Both ends are the pipeline's own; only wire and work are simulated. Producers make an example now and then, at moments
drawn anew each time, and the consumer takes what comes at once. Credit that lies with the wrong producer shows as
recalls, and as waiting for longer than the step in which an example is made.
"""

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from benchmarks.row import Progress, Row
from sonorant.links.credit import Grant, Grants, Recall
from sonorant.links.outbox import Outbox

__all__ = ["Fleet", "rows"]

_CASES = (  # slots, producers, time between what one makes, how many it makes at once
    (512, 64, 10, 1),
    (512, 128, 100, 1),
    (128, 64, 10, 1),
    (512, 500, 200, 1),
    (64, 500, 200, 1),
    (512, 500, 2000, 16),
    (64, 500, 2000, 16),
)
_SECONDS = 4
_CONSUMER = "consumer"


def rows(progress: Progress) -> Iterator[Row]:
    """Yield the 99th percentile of waiting and recalls for each example, by slots, producers and their pace."""
    for slots, producers, every_ms, burst in _CASES:
        case = f"{slots} slots, {producers} x {burst} each {every_ms} ms"
        progress(case)
        fleet = Fleet(slots, producers, every_ms, burst)
        fleet.run(1000 * _SECONDS)
        yield Row("waiting for credit", case, float(np.percentile(fleet.waited_ms, 99)), "ms", "a step", 1)
        yield Row("recalls", case, fleet.recalls / len(fleet.waited_ms), "an example")


class _Made(NamedTuple):
    """An example, made at `at_ms`; of no size, so that all for a consumer are in one message."""

    at_ms: float
    size: int = 0
    lane: int = 0


@dataclass
class _Producer:
    due_ms: float
    outbox: Outbox[str, _Made] = field(default_factory=Outbox)
    inbox: deque[Grant[int] | Recall[int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.outbox.join(_CONSUMER)


class Fleet:
    """Producers that make `burst` examples each `every_ms` on average, and a consumer with `slots`."""

    def __init__(self, slots: int, producers: int, every_ms: float, burst: int = 1) -> None:
        self.waited_ms: list[float] = []
        self.recalls = 0
        self._random = random.Random(1)
        self._every_ms, self._burst = every_ms, burst
        self._producers = [_Producer(self._random.uniform(0, every_ms)) for _ in range(producers)]
        self._grants: Grants[int] = Grants()
        for number in range(producers):
            self._grants.join(number)
        self._grants.release(slots)

    def run(self, milliseconds: int) -> None:
        """Simulate so many milliseconds; answers to the consumer's messages of a step arrive in the next."""
        for now_ms in range(milliseconds):
            for action in self._grants.actions():
                self._producers[action.producer].inbox.append(action)
                self.recalls += isinstance(action, Recall)
            for number, producer in enumerate(self._producers):
                self._receive(number, producer)
                self._make(producer, now_ms)
                self._send(number, producer, now_ms)

    def _receive(self, number: int, producer: _Producer) -> None:
        while producer.inbox:
            action = producer.inbox.popleft()
            if isinstance(action, Grant):
                producer.outbox.on_grant(_CONSUMER, action.examples)
            else:
                self._grants.on_return(number, producer.outbox.on_recall(_CONSUMER))

    def _make(self, producer: _Producer, now_ms: int) -> None:
        while producer.due_ms <= now_ms:
            for _ in range(self._burst):
                producer.outbox.offer(_Made(producer.due_ms))
            producer.due_ms += self._every_ms * self._random.uniform(0.5, 1.5)

    def _send(self, number: int, producer: _Producer, now_ms: int) -> None:
        for bundle in producer.outbox.bundles():
            self.waited_ms += [now_ms - item.at_ms for item in bundle.items]
            self._grants.on_examples(number, len(bundle.items), bundle.waiting)
            self._grants.release(len(bundle.items))
        for notice in producer.outbox.backlogs():
            self._grants.on_backlog(number, notice.waiting)

import threading
import time

import pytest
from rigs.waiting import PATIENCE_S

from services.recognizer.due_queue import DueQueue

MOST = 4


class Taker(threading.Thread):
    """Takes once; `looks` has the times at which it looked at its clock."""

    def __init__(self, queue, takers=1, clock=time.monotonic):
        super().__init__(daemon=True)
        self.queue, self.takers, self.clock = queue, takers, clock
        self.looks, self.found = [], None
        self.start()

    def run(self):
        self.found = self.queue.take(most_ahead=MOST, takers=self.takers, clock=self._look)

    def _look(self):
        self.looks.append(self.clock())
        return self.looks[-1]

    def taken(self):
        self.join(PATIENCE_S)
        assert not self.is_alive(), "nothing woke it"
        return self.found


class Delay:
    """A delay of 0.2 s that is never over before `end`."""

    until_s = 0.2

    def __init__(self):
        self.now_s = 0.0

    def clock(self):
        return self.now_s

    def end(self):
        self.now_s = self.until_s


def until_waiting(queue, takers=1):
    while len(queue._filled._waiters or ()) < takers:
        time.sleep(0.001)


def delayed(*items):
    queue = DueQueue(MOST)
    queue.delay(time.monotonic() + 3600.0)
    for number, item in enumerate(items):
        queue.put(float(number), item, urgent=False)
    return queue


def taken_after_a_delay(queue):
    """What is taken when two more items come within a delay."""
    delay = Delay()
    queue.delay(delay.until_s)
    taker = Taker(queue, clock=delay.clock)
    until_waiting(queue)
    queue.put(5.0, "more 1", urgent=False)
    queue.put(6.0, "more 2", urgent=False)
    delay.end()
    return taker.taken()


def test_an_item_is_taken_after_the_delay_with_what_has_come():
    assert taken_after_a_delay(delayed("first")) == ["first", "more 1", "more 2"]


def test_an_urgent_item_that_was_taken_ends_no_other_delay():
    queue = delayed()
    queue.put(0.0, "urgent")
    assert Taker(queue).taken() == ["urgent"]
    queue.put(0.0, "first", urgent=False)
    assert taken_after_a_delay(queue) == ["first", "more 1", "more 2"]


def test_a_taker_sleeps_through_the_delay_whatever_comes():
    queue = delayed("first")
    taker = Taker(queue)
    until_waiting(queue)
    for number in range(2):
        queue.put(5.0, number, urgent=False)
        time.sleep(0.1)  # in which it would look, if it were woken
    assert len(taker.looks) == 1
    queue.close()
    assert taker.taken() == ["first", 0, 1]


def test_an_urgent_item_that_is_left_wakes_another_taker():
    queue = delayed("first")
    takers = [Taker(queue, takers=2) for _ in range(2)]
    until_waiting(queue, 2)
    queue.put(9.0, "urgent")
    assert sorted(taker.taken() for taker in takers) == [["first"], ["urgent"]]


def test_takers_share_what_comes_at_once():
    queue, delay = DueQueue(MOST), Delay()
    takers = [Taker(queue, 2, delay.clock) for _ in range(2)]
    until_waiting(queue, 2)
    queue.delay(delay.until_s)
    for number in range(3):
        queue.put(float(number), number, urgent=False)
    delay.end()
    assert sorted(taker.taken() for taker in takers) == [[0, 1], [2]]


@pytest.mark.parametrize("end", ["urgent", "full", "closed"])
def test_what_ends_a_delay(end):
    queue = delayed("first", "second")
    taker = Taker(queue)
    until_waiting(queue)
    ends = {
        "urgent": lambda: queue.put(-1.0, "urgent"),
        "full": lambda: [queue.put(9.0, "more", urgent=False) for _ in range(2)],
        "closed": queue.close,
    }
    ends[end]()
    assert taker.taken()[:2] == (["urgent", "first"] if end == "urgent" else ["first", "second"])


def test_nothing_is_taken_at_the_end():
    queue = delayed("first")
    queue.close()
    assert Taker(queue).taken() == ["first"]
    assert Taker(queue).taken() == []

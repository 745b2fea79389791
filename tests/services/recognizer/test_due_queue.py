import threading
import time

import pytest

from services.recognizer.due_queue import DueQueue

MOST = 4


def taken(queue, clock=time.monotonic):
    return queue.take(MOST, 1, clock)


def delayed(*items):
    queue = DueQueue(MOST)
    queue.delay(time.monotonic() + 3600.0)
    for number, item in enumerate(items):
        queue.put(float(number), item, urgent=False)
    return queue


def taken_after_the_delay(queue, clock=time.monotonic):
    """What is taken when two more items come within a delay."""
    queue.delay(time.monotonic() + 0.5)
    for number in (1, 2):
        threading.Timer(0.05 * number, queue.put, (5.0, f"more {number}"), {"urgent": False}).start()
    return taken(queue, clock)


def test_an_item_is_taken_after_the_delay_with_what_has_come():
    assert taken_after_the_delay(delayed("first")) == ["first", "more 1", "more 2"]


def test_a_taker_sleeps_through_the_delay_whatever_comes():
    looks = []

    def clock():
        looks.append(time.monotonic())
        return looks[-1]

    taken_after_the_delay(delayed("first"), clock)
    _, *later = looks  # before its sleep, and after
    assert later
    assert later[0] - looks[0] > 0.4


def test_an_urgent_item_that_was_taken_ends_no_other_delay():
    queue = delayed()
    queue.put(0.0, "urgent")
    assert taken(queue) == ["urgent"]
    queue.put(0.0, "first", urgent=False)
    assert taken_after_the_delay(queue) == ["first", "more 1", "more 2"]


def test_an_urgent_item_that_is_left_wakes_another_taker():
    queue, found = delayed("first"), []
    takers = [threading.Thread(target=lambda: found.extend(queue.take(MOST, 2, time.monotonic))) for _ in range(2)]
    for taker in takers:
        taker.start()
    time.sleep(0.05)  # until both wait
    queue.put(9.0, "urgent")
    for taker in takers:
        taker.join(30)
    assert sorted(found) == ["first", "urgent"]


def test_takers_share_what_comes_at_once():
    queue, found = DueQueue(MOST), []
    takers = [threading.Thread(target=lambda: found.append(queue.take(MOST, 2, time.monotonic))) for _ in range(2)]
    for taker in takers:
        taker.start()
    time.sleep(0.05)  # until both wait
    queue.delay(time.monotonic() + 0.2)
    for number in range(3):
        queue.put(float(number), number, urgent=False)
    for taker in takers:
        taker.join(30)
    assert sorted(found) == [[0, 1], [2]]


@pytest.mark.parametrize("end", ["urgent", "full", "closed"])
def test_what_ends_a_delay(end):
    queue = delayed("first", "second")
    ends = {
        "urgent": lambda: queue.put(-1.0, "urgent"),
        "full": lambda: [queue.put(9.0, "more", urgent=False) for _ in range(2)],
        "closed": queue.close,
    }
    threading.Timer(0.02, ends[end]).start()
    assert taken(queue)[:2] == (["urgent", "first"] if end == "urgent" else ["first", "second"])


def test_nothing_is_taken_at_the_end():
    queue = delayed("first")
    queue.close()
    assert taken(queue) == ["first"]
    assert taken(queue) == []

import threading
import time

import pytest

from services.recognizer.due_queue import DueQueue


def taken(queue, most=4, clock=time.monotonic):
    return queue.take(most, most, 1, clock)


def delayed(*items):
    queue = DueQueue()
    queue.delay(time.monotonic() + 60.0)
    for number, item in enumerate(items):
        queue.put(float(number), item, urgent=False)
    return queue


def taken_after_the_delay(queue):
    """What is taken when another item comes, after which the delay is over."""
    now_s = [0.0]
    queue.delay(60.0)

    def come():
        now_s[0] = 61.0
        queue.put(5.0, "second", urgent=False)

    threading.Timer(0.02, come).start()
    return taken(queue, clock=lambda: now_s[0])


def test_an_item_is_taken_after_the_delay_with_what_has_come():
    assert taken_after_the_delay(delayed("first")) == ["first", "second"]


def test_an_urgent_item_that_was_taken_ends_no_other_delay():
    queue = delayed()
    queue.put(0.0, "urgent")
    assert taken(queue) == ["urgent"]
    queue.put(0.0, "first", urgent=False)
    assert taken_after_the_delay(queue) == ["first", "second"]


def test_an_urgent_item_that_is_left_wakes_another_taker():
    queue, found = delayed("first"), []
    takers = [threading.Thread(target=lambda: found.extend(queue.take(4, 4, 2, time.monotonic))) for _ in range(2)]
    for taker in takers:
        taker.start()
    time.sleep(0.05)  # until both wait
    queue.put(9.0, "urgent")
    for taker in takers:
        taker.join(30)
    assert sorted(found) == ["first", "urgent"]


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

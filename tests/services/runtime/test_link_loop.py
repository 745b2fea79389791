"""Whichever thread is at the sockets, nothing that came is overlooked."""

import contextlib
import threading

import pytest
from links_rig import Consumer, Producer, eventually

from services.runtime.link_loop import LinkLoop


@pytest.fixture
def stack():
    with contextlib.ExitStack() as stack:
        yield stack


def test_work_is_done_at_once_when_nobody_is_at_the_sockets_and_later_otherwise(stack):
    loop = LinkLoop([], on_crash=pytest.fail)
    loop.start()
    stack.callback(loop.stop)
    threads = []
    eventually(lambda: loop.post(lambda: threads.append(threading.get_ident())) or threading.get_ident() in threads)
    inside, leave, done = threading.Event(), threading.Event(), threading.Event()
    threading.Thread(target=loop.post, args=(lambda: inside.set() or leave.wait(),)).start()
    assert inside.wait(20)
    loop.post(done.set)
    assert not done.is_set()
    leave.set()
    assert done.wait(20)


def test_a_task_may_post_others(stack):
    loop = LinkLoop([], on_crash=pytest.fail)
    loop.start()
    stack.callback(loop.stop)
    done = threading.Event()
    loop.post(lambda: loop.post(done.set))
    assert done.wait(20)


def test_what_one_thread_posts_is_done_in_its_order(stack):
    loop = LinkLoop([], on_crash=pytest.fail)
    loop.start()
    stack.callback(loop.stop)
    done, leave = [], threading.Event()
    busy = threading.Thread(target=loop.post, args=(lambda: done.append(-1) or leave.wait(),))
    busy.start()
    eventually(lambda: done)
    loop.post(lambda: done.append(0))
    leave.set()
    busy.join()
    for number in range(1, 100):
        loop.post(lambda number=number: done.append(number))
    eventually(lambda: len(done) == 101)
    assert done == list(range(-1, 100))


def test_messages_are_not_overlooked_while_other_threads_use_the_sockets(stack):
    producer, other = Producer(dead_after_s=600.0), Producer(dead_after_s=600.0)  # so that no deadline wakes anybody
    consumer = Consumer([producer.endpoint, other.endpoint], credits=1, dead_after_s=600.0, hungry=True)
    done = threading.Event()

    def meddle(member):
        while not done.wait(1e-5):
            member.loop.post(lambda: None)

    meddlers = [threading.Thread(target=meddle, args=(member,)) for member in (producer, other, consumer)]
    for member in (producer, other, consumer):
        stack.callback(member.close)
    for thread in meddlers:
        thread.start()
        stack.callback(thread.join)
    stack.callback(done.set)
    for number in range(0, 600, 2):
        producer.offer([number])
        other.offer([number + 1])
    eventually(lambda: len(consumer.eaten) == 600)
    assert sorted(consumer.eaten) == list(range(600))


def test_news_that_another_thread_takes_while_the_loop_is_about_to_sleep_wakes_it(stack, monkeypatch):
    wait = LinkLoop._wait

    def wait_late(*arguments):
        threading.Event().wait(0.002)
        return wait(*arguments)

    monkeypatch.setattr(LinkLoop, "_wait", wait_late)
    producer = Producer(dead_after_s=600.0)
    stack.callback(producer.close)
    consumer = Consumer([producer.endpoint], credits=1, dead_after_s=600.0, hungry=True)
    stack.callback(consumer.close)
    for number in range(150):
        producer.offer([number])
        threading.Event().wait(number % 10 * 0.0003)
    eventually(lambda: consumer.eaten == list(range(150)))


@pytest.mark.parametrize("inside", [True, False], ids=["the loop's thread", "another thread"])
def test_a_crash_ends_the_loop_and_is_told(inside):
    crashes = []
    loop = LinkLoop([], on_crash=crashes.append)
    if not inside:
        loop.start()
    loop.post(lambda: 1 / 0)
    if inside:
        loop.start()
    eventually(lambda: not loop._thread.is_alive())
    assert [type(crash) for crash in crashes] == [ZeroDivisionError]
    loop.stop()

"""Shutdown: requested once by any means, with all callbacks run."""

import os
import signal
import threading

import pytest

from services.process.signals import Shutdown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_requests_shutdown_once(number):
    calls = []
    with Shutdown() as shutdown:
        shutdown.on_request(lambda: calls.append(threading.current_thread().name))
        assert not shutdown.requested
        os.kill(os.getpid(), number)
        assert shutdown.wait(10)
        shutdown.request()
    assert calls == ["shutdown"]


def test_who_asks_late_is_told_at_once():
    shutdown = Shutdown()
    shutdown.request()
    calls = []
    shutdown.on_request(lambda: calls.append(1))
    assert calls == [1]


def test_a_second_interrupt_ends_the_process():
    with Shutdown() as shutdown:
        os.kill(os.getpid(), signal.SIGINT)
        assert shutdown.wait(10)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with Shutdown():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before

"""Shutdown: requested once by any means, with all callbacks run; and the end of a command by a signal."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from services.process.signals import Shutdown, leaving_in_order


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


@pytest.fixture
def hangup():
    """SIGHUP with a handler for the test alone; tests that nohup runs ignore it."""
    before = signal.getsignal(signal.SIGHUP)
    yield lambda handler: signal.signal(signal.SIGHUP, handler)
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_leaves_by_its_finally_blocks_and_handlers_are_put_back(number, hangup):
    hangup(signal.SIG_DFL)
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as end, leaving_in_order():
        signal.raise_signal(number)
    assert (end.value.code, signal.getsignal(number)) == (128 + number, before)


NESTED = """
import signal
from services.process.signals import leaving_in_order

with leaving_in_order():
    try:
        with leaving_in_order():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.raise_signal(signal.SIGHUP)
"""


def test_a_second_signal_ends_the_process_at_once_whichever_block_it_is_in():
    code = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL)\n{NESTED}"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == -signal.SIGHUP


def test_a_signal_that_is_ignored_stays_so(hangup):
    hangup(signal.SIG_IGN)
    with leaving_in_order():
        signal.raise_signal(signal.SIGHUP)


def test_in_another_thread_signals_stay_the_main_thread_s():
    def leave():
        with leaving_in_order():
            found.append(signal.getsignal(signal.SIGTERM))

    found = []
    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGTERM)]

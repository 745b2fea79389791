"""Termination signals: the first one begins the drain, or the end, for which a second one does not wait."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType

__all__ = ["TOGETHER_S", "Shutdown", "heed_signals", "leaving_in_order"]

TOGETHER_S = 1.0
"""Within which signals are one: `timeout`, a terminal and a command may send theirs to a process and to its group."""

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_ENDING = (signal.SIGTERM, signal.SIGHUP)  # beside SIGINT, which raises KeyboardInterrupt


def heed_signals() -> None:
    """Exit at SIGTERM, until a `Shutdown` takes over.

    A container's first process gets only signals that it handles: without this, it would ignore SIGTERM while it loads
    or waits.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


@contextmanager
def leaving_in_order() -> Iterator[None]:
    """Raise SystemExit at the first SIGTERM or SIGHUP, so that a command ends its child processes.

    A second one ends the process at once. A signal that is ignored, as SIGHUP by nohup, stays so. Signals are the main
    thread's: in others nothing changes, nor within another such block.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in _ENDING}
    before = {number: handler for number, handler in handlers.items() if handler not in (signal.SIG_IGN, _leave, None)}
    for number in before:
        signal.signal(number, _leave)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _frame: FrameType | None) -> None:
    for each in _ENDING:
        if signal.getsignal(each) is _leave:
            signal.signal(each, signal.SIG_DFL)
    sys.exit(128 + number)


class Shutdown:
    """A request to drain, by a signal or by the program itself; edge-triggered: callbacks run once.

    Example: `with Shutdown() as shutdown: shutdown.on_request(source.stop); run()`.

    The signal handler does nothing but wake a thread, so that callbacks may take locks.
    """

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._previous: dict[signal.Signals, signal._HANDLER] = {}
        self._arrived: SimpleQueue[bool] = SimpleQueue()
        self._thread = threading.Thread(target=self._await_signal, name="shutdown", daemon=True)

    def __enter__(self) -> "Shutdown":
        """Take over the signals; only the main thread may."""
        self._thread.start()
        for number in _SIGNALS:
            self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()
        self._arrived.put(False)
        self._thread.join()

    @property
    def requested(self) -> bool:
        """True from the first request on."""
        return self._requested.is_set()

    def on_request(self, callback: Callable[[], None]) -> None:
        """Call `callback` at the request, or now if it was made before."""
        with self._lock:
            waiting = not self.requested
            if waiting:
                self._callbacks.append(callback)
        if not waiting:
            callback()

    def request(self) -> None:
        """Request the drain; idempotent."""
        with self._lock:
            if self.requested:
                return
            self._requested.set()
        for callback in self._callbacks:
            callback()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the request; return whether it came."""
        return self._requested.wait(timeout_s)

    def _await_signal(self) -> None:
        if self._arrived.get():
            self.request()

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._restore()
        self._arrived.put(True)

    def _restore(self) -> None:
        while self._previous:
            number, handler = self._previous.popitem()
            signal.signal(number, handler)

"""Tracking beside the trainer: a thread, whose failures are logged and end nothing."""

import threading
import time

import structlog

from services.process.outage import Outage
from services.process.secrets import masked
from services.tracking.transfer import Transfer

__all__ = ["Tracker"]

log = structlog.get_logger()

_EVERY_S = 2.0
_LAST_TRY_S = 10.0  # of the end of training
_NEXT = "sonorant report"  # sends what is left


class Tracker:
    """Repeats a transfer every two seconds until it is closed, and once more then.

    uri: the tracker's, for the log. A server that is gone is logged once, then seldom; what it lacks it gets when it is
    back.
    """

    def __init__(self, transfer: Transfer, uri: str) -> None:
        self._transfer = transfer
        self._uri = masked(uri)
        self._outage = Outage()
        self._closing = threading.Event()
        self._last_status = ""
        self._thread = threading.Thread(target=self._follow, name="tracking", daemon=True)

    def start(self) -> None:
        """Begin to follow the run."""
        self._thread.start()

    def close(self, status: str = "") -> None:
        """Send the rest with the run's last status, for at most ten seconds; without a status, nothing more."""
        self._last_status = status or self._last_status
        self._closing.set()
        self._thread.join(_LAST_TRY_S if status else 0.0)
        if status and self._thread.is_alive():
            log.warning("tracking_incomplete", uri=self._uri, reason=f"no answer in {_LAST_TRY_S:g} s", next=_NEXT)

    def _follow(self) -> None:
        while not self._closing.wait(_EVERY_S):
            self.attempt("RUNNING")
        if self._last_status and not self.attempt(self._last_status):
            log.warning("tracking_incomplete", uri=self._uri, next=_NEXT)

    def attempt(self, status: str) -> bool:
        """Transfer once, with the run's status; return whether it succeeded, and log the change."""
        try:
            self._transfer.send(status)
        except Exception as error:  # this thread's edge: the client's errors have no common root
            if self._outage.failed(time.monotonic()):
                log.warning("tracking_unavailable", uri=self._uri, reason=masked(f"{type(error).__name__}: {error}"))
            return False
        if (lasted_s := self._outage.ended(time.monotonic())) is not None:
            log.info("tracking_resumed", uri=self._uri, after_s=round(lasted_s, 1))
        return True

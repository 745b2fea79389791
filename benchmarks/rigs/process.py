"""A child process that answers requests, so that its CPU time can be read while it works."""

import logging
import multiprocessing
import os
import traceback
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

import structlog

from services.process.memory import keep_freed_memory

__all__ = ["Child", "Main"]

# A fork server has imported everything but holds no thread, lock or socket: 64 children start in a second.
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["benchmarks.rigs.transport", "benchmarks.rigs.peers"])
_PATIENCE_S = 60.0

Main = Callable[..., None]


class Child:
    """Runs `main(connection, *arguments)`; `main` must answer every message that comes, and return when None comes."""

    def __init__(self, main: Main, *arguments: object) -> None:
        self._connection, other = _PROCESSES.Pipe()
        self._process = _PROCESSES.Process(target=_run, args=(main, other, arguments), daemon=True)
        self._process.start()
        other.close()

    @property
    def pid(self) -> int | None:
        """The child's process number."""
        return self._process.pid

    def send(self, question: object = "") -> None:
        """Send a request, which the child answers; `query` also receives the answer."""
        self._connection.send(question)

    def receive(self, patience_s: float = _PATIENCE_S) -> Any:
        """Return the child's answer to the first request that has none yet; raises TimeoutError."""
        if not self._connection.poll(patience_s):
            raise TimeoutError(f"{self._process.name} did not answer within {patience_s} s")
        return self._connection.recv()

    def query(self, question: object = "") -> Any:
        """Return the child's answer."""
        self.send(question)
        return self.receive()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: TracebackType | type | BaseException | None) -> None:
        self._connection.send(None)
        self._process.join(_PATIENCE_S)
        self._connection.close()


def _run(main: Main, connection: Connection, arguments: Sequence[object]) -> None:
    keep_freed_memory()  # as services do
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR)
    )  # the terminal is the bench's
    try:
        main(connection, *arguments)
    except (EOFError, ConnectionError):  # the parent has died, perhaps before it received the answer
        os._exit(1)
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # a thread of `main` may run still, for which an ordinary end would wait

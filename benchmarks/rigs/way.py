"""What carries arrays from processes to this one, as the benchmark sees it."""

import time
from contextlib import ExitStack
from multiprocessing.connection import Connection
from typing import Protocol

from benchmarks.rigs.process import Child, Main

__all__ = ["Producers", "Way", "answer"]


class Way(Protocol):
    """A consumer and its producers."""

    @property
    def taken(self) -> int:
        """Examples that came so far."""
        ...

    def go(self) -> None:
        """Let examples come."""
        ...

    def pause(self) -> None:
        """Let none come beyond those under way."""
        ...

    def cpu_s(self) -> float:
        """Return the CPU seconds of all processes so far."""
        ...


class Producers:
    """Producers' processes and their endpoints."""

    def __init__(self, main: Main, samples: int, count: int) -> None:
        self._exit = ExitStack()
        self._children = [self._exit.enter_context(Child(main, samples)) for _ in range(count)]
        self.endpoints: list[str] = [child.query("endpoint") for child in self._children]

    def cpu_s(self) -> float:
        """Return their CPU seconds and this process'."""
        return time.process_time() + sum(float(child.query("cpu")) for child in self._children)

    def close(self) -> None:
        """End them."""
        self._exit.close()


def answer(connection: Connection, endpoint: str) -> None:
    """Answer the parent's requests for the endpoint or the CPU seconds so far, until None comes."""
    while (question := connection.recv()) is not None:
        connection.send(endpoint if question == "endpoint" else time.process_time())

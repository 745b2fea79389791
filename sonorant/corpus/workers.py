"""Processes that work on independent tasks, and are gone when their work is, or when it is interrupted."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from itertools import islice
from types import FrameType
from typing import Protocol, TypeVar

from sonorant.errors import Unavailable

__all__ = ["Workers", "open_workers"]

_AHEAD = 4  # tasks a worker, so that none waits for this process
_LOOK_EVERY_S = 0.1
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Task = TypeVar("Task")
Result = TypeVar("Result")


class Workers(Protocol):
    """Applies a function to tasks; results come as they are ready, in any order."""

    def __call__(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the results; an error of any task is raised here."""
        ...


@contextmanager
def open_workers(jobs: int) -> Iterator[Workers]:
    """Yield workers on `jobs` processes; with one job the work is done in this process."""
    if jobs == 1:
        yield _in_this_process
        return
    # Spawned, not forked: a forked copy of a progress bar's thread may hold a lock for ever.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_begin)

    with _interrupts() as check:

        def apply(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
            left, pending = iter(tasks), set[Future[Result]]()
            try:
                while True:
                    check()
                    pending |= {pool.submit(function, task) for task in islice(left, _AHEAD * jobs - len(pending))}
                    if not pending:
                        return
                    done, pending = wait(pending, _LOOK_EVERY_S, FIRST_COMPLETED)
                    for future in done:
                        yield future.result()
            except BrokenProcessPool as error:
                check()  # a worker that has not begun yet dies of Ctrl-C, too
                reason = "a worker process died, perhaps of exhausted memory; try again with --jobs 1"
                raise Unavailable(reason) from error

        try:
            yield apply
        except BaseException:
            _end_now(pool)
            raise
        pool.shutdown(cancel_futures=True)


@contextmanager
def _interrupts() -> Iterator[Callable[[], None]]:
    """Yield a check that delivers a signal that came since, by which its handler may raise.

    KeyboardInterrupt, or what else a handler raises, may anywhere else leave a lock of the pool taken.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    came: int | None = None
    before = {number: handler for number in _ENDING if callable(handler := signal.getsignal(number))}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, _frame: FrameType | None) -> None:
        nonlocal came
        came = number
        restore()  # a second one is not noted but delivered, wherever that is

    def check() -> None:
        nonlocal came
        if came is not None:
            number, came = came, None
            signal.raise_signal(number)

    for number in before:
        signal.signal(number, note)
    try:
        yield check
        check()
    finally:
        restore()


def _in_this_process(function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
    return map(function, tasks)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the parent decides
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End this process when its parent ends, however that happens."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _end_now(pool: Executor) -> None:
    results = getattr(pool, "_result_queue", None)
    for process in list(getattr(pool, "_processes", None) or {}):
        with suppress(ProcessLookupError):  # Ctrl-C may have ended it before it could ignore that
            os.kill(process, signal.SIGTERM)
    if results is not None:  # else the pool would wait for ever for the rest of a result that a worker was sending
        results._writer.close()
    pool.shutdown(cancel_futures=True)

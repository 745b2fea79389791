"""Background tasks that a server cannot do without: an error that ends one is raised at once."""

import asyncio
from collections.abc import Coroutine

import structlog

__all__ = ["VitalTasks"]

log = structlog.get_logger()


class VitalTasks:
    """Runs coroutines in the event loop in which it is made.

    Example: `tasks = VitalTasks(); tasks.start(tick()); await tasks.failure()`.
    """

    def __init__(self) -> None:
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, coroutine: Coroutine[None, None, None]) -> None:
        """Run a coroutine until it returns or all are cancelled."""
        task = asyncio.create_task(coroutine, name=getattr(coroutine, "__qualname__", None))
        task.add_done_callback(self._on_done)
        self._tasks.append(task)

    async def failure(self) -> None:
        """Wait until an exception ends one of them, and raise it, to end the process."""
        await self._failed

    def cancel(self) -> None:
        """End all of them."""
        for task in self._tasks:
            task.cancel()

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None and not self._failed.done():
            self._failed.set_exception(error)
            log.error("task_died", task=task.get_name(), exc_info=error)

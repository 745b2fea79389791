"""Logs are events: JSON lines in a pod or a file, coloured lines on a terminal. To log never raises.

Lines lost to a full disk or a closed pipe are counted, and the count is logged once writing works again
(`sturdy_file`).
"""

import json
import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, cast

import structlog
from structlog.dev import ConsoleRenderer, plain_traceback
from structlog.tracebacks import ExceptionDictTransformer

from services.process.sturdy_file import SturdyFile, sturdy_stderr
from sonorant.atomic import make_folder, refused

__all__ = ["configure_logging", "log_to_file", "log_to_stderr"]

log = structlog.get_logger()

_EXIT_AGAIN = 75  # EX_TEMPFAIL: the same command goes on


def configure_logging(service: str, replica: str = "", level: str = "info") -> None:
    """Send structlog's events to standard error, each with its service, replica, time and level.

    Call it once, first thing in a service. `level` is the least severe level shown: debug, info, warning or error. From
    now on writes to standard error do not raise, and an exception that ends a thread is logged and ends the process
    with code 75, so that its supervisor restarts it: no thread, such as the heartbeat's, ends unnoticed.
    """
    log_to_stderr(service, replica, level)
    threading.excepthook = _end_process


def log_to_stderr(service: str, replica: str = "", level: str = "info") -> None:
    """Do the part of `configure_logging` for lines only, in a process without vital threads."""
    shaping: list[structlog.typing.Processor] = []
    file = sturdy_stderr(lambda lost: _shaped(shaping, "warning", _lost(lost)))
    shaping += _shaping(service, replica, terminal=file.isatty())
    _configure(shaping, file, level)


def log_to_file(path: Path, service: str) -> None:
    """Append structlog's events to a file, as JSON. Raises Unavailable if it cannot be opened."""
    make_folder(path.parent)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    except OSError as error:
        raise refused(path, error) from error
    shaping = _shaping(service, "", terminal=False)
    file = SturdyFile(descriptor, lambda lost: _shaped(shaping, "warning", _lost(lost)))
    _configure(shaping, cast(BinaryIO, file), "info")


def _configure(shaping: Sequence[structlog.typing.Processor], file: BinaryIO, level: str) -> None:
    def encoded(_logger: object, method: str, event: structlog.typing.EventDict) -> bytes:
        return _shaped(shaping, method, event).encode("utf-8", "backslashreplace")

    structlog.configure(
        processors=[structlog.contextvars.merge_contextvars, encoded],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.BytesLoggerFactory(file=file),
        cache_logger_on_first_use=True,
    )


def _shaping(service: str, replica: str, terminal: bool) -> list[structlog.typing.Processor]:
    """Return what makes a line of an event; no traceback shows the values of variables, which may be secrets."""
    common = [_naming(service, replica), structlog.processors.add_log_level]
    common.append(structlog.processors.TimeStamper(fmt="iso", utc=not terminal))
    if terminal:
        return [*common, ConsoleRenderer(exception_formatter=plain_traceback)]
    tracebacks = structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
    return [*common, tracebacks, structlog.processors.JSONRenderer(sort_keys=False)]


def _shaped(shaping: Sequence[structlog.typing.Processor], method: str, event: structlog.typing.EventDict) -> str:
    """Return the line of an event, or of its name alone if there is something in it that cannot be shown."""
    name = str(event.get("event"))
    line: structlog.typing.ProcessorReturnValue = event
    try:
        for process in shaping:
            line = process(None, method, cast(structlog.typing.EventDict, line))
    except Exception as error:  # of whatever was to be logged: the caller could not handle it
        return json.dumps({"event": name, "not_shown": type(error).__name__})
    return str(line)


def _lost(count: int) -> structlog.typing.EventDict:
    return {"event": "log_lines_lost", "count": count}


def _end_process(dead: threading.ExceptHookArgs) -> None:
    if dead.exc_type is SystemExit:
        return
    name = dead.thread.name if dead.thread is not None else "?"
    log.error("thread_died", thread=name, exc_info=dead.exc_value)
    os._exit(_EXIT_AGAIN)


def _naming(service: str, replica: str) -> structlog.typing.Processor:
    """Return a processor, and not a context variable, because threads do not inherit those."""
    names = {"service": service} | ({"replica": replica} if replica else {})

    def name(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        event.update(names)
        return event

    return name

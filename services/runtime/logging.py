"""Logs are events: JSON lines in a pod or a file, coloured lines on a terminal."""

import logging
import sys

import structlog

__all__ = ["configure_logging"]


def configure_logging(service: str, replica: str = "", level: str = "info") -> None:
    """Send structlog's events to standard error, each with its service, replica, time and level.

    Call it once, first thing in a process. `level` is the least severe level shown: debug, info, warning or error.
    """
    terminal = sys.stderr.isatty()
    render: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer(sort_keys=False)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _naming(service, replica),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=not terminal),
            *([] if terminal else [structlog.processors.dict_tracebacks]),
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.PrintLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


def _naming(service: str, replica: str) -> structlog.typing.Processor:
    """Return a processor, and not a context variable, because threads do not inherit those."""
    names = {"service": service} | ({"replica": replica} if replica else {})

    def name(_logger: object, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        event.update(names)
        return event

    return name

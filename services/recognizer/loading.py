"""Loading: a version is read, checked and warm before it is in service; live streams come first meanwhile."""

import gc
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import structlog

from sonorant.errors import SonorantError
from sonorant.export.loading import load_exported
from sonorant.export.manifest import BadExport
from sonorant.serving.model import ServedModel
from sonorant.serving.warm_up import check_warm_up

__all__ = ["collect_rarely", "load_served"]

log = structlog.get_logger()

_NICENESS = 10  # above that of streams, of a thread that loads beside them: a tenth of a processor that they could use
_LONGEST_SLEEP_S = 0.1
_YOUNG = 20_000  # objects between two collections of garbage: a round of many streams makes more than Python's 700


def collect_rarely() -> None:
    """Leave all objects so far out of later collections of garbage, which stop all threads, and have few of them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)


def load_served(folder: Path, streams: bool) -> ServedModel:
    """Load an exported model, and recognize its recorded requests; raises SonorantError, or OSError, if either fails.

    streams: whether there may be any. They come first on a processor that is busy; on any, loading rests between calls.
    """
    if not streams:
        return _load(folder, lambda: None)
    with ThreadPoolExecutor(1, "load", _step_back) as executor:
        return executor.submit(_load, folder, _throttle()).result()


def _load(folder: Path, rest: Callable[[], None]) -> ServedModel:
    try:
        model = load_exported(folder, rest)
        check_warm_up(model, folder, rest)
    except (SonorantError, OSError):
        raise
    except Exception as error:  # of TensorFlow, or ours: it costs this version, not those in service
        log.error("model_version_failed", path=str(folder), exc_info=error)
        raise BadExport(f"{folder}: {type(error).__name__} while it was loaded or warmed up; the log has it") from error
    return model


def _step_back() -> None:
    """Lower the priority of this thread, which may not raise it again: Linux has one for each."""
    thread = threading.get_native_id()
    try:
        os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + _NICENESS)  # 19 at most
    except OSError as error:  # where it is forbidden a version is loaded all the same
        log.warning("loading_keeps_its_priority", error=str(error))


def _throttle() -> Callable[[], None]:
    """Return a call that sleeps as long as the time since it returned last."""
    since_s = time.monotonic()

    def sleep() -> None:
        nonlocal since_s
        time.sleep(min(_LONGEST_SLEEP_S, time.monotonic() - since_s))
        since_s = time.monotonic()

    return sleep

"""What an operator is told of versions and labels: a log event of each change."""

from collections.abc import Iterable

import structlog

from sonorant.serving.model_store import VersionChange

__all__ = ["log_changes"]

log = structlog.get_logger()


def log_changes(changes: Iterable[VersionChange]) -> None:
    """Log versions that came into service or were refused, and labels that could not be assigned."""
    for change in changes:
        log.info("model_version", path=str(change.path), refusal=change.refusal, labels=list(change.labels))

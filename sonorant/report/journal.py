"""A run's metrics: lines of `metrics.jsonl`, by kind."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["Line", "read_journal"]

Line: TypeAlias = dict[str, Any]


def read_journal(path: Path) -> dict[str, list[Line]]:
    """Return the lines of each kind in order, less damaged lines.

    Kinds: "initial", "step", "skipped", "dev", "anneal", "alignment", "stages", "end".
    """
    lines: dict[str, list[Line]] = defaultdict(list)
    if not path.exists():
        return lines
    for text in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
            lines[line["kind"]].append(line)
        except (ValueError, TypeError, KeyError):
            continue
    return lines

"""The end of another process's log, for the error that reports how that process ended."""

from pathlib import Path

__all__ = ["last_lines"]


def last_lines(log_file: Path, most: int = 8) -> str:
    """Return the last lines of a log, indented; "(nothing)" if there is none."""
    try:
        lines = log_file.read_text(errors="replace").rstrip().splitlines()[-most:]
    except OSError:
        lines = []
    return "\n".join(f"    {line}" for line in lines) or "    (nothing)"

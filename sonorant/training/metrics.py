"""Figures of a training run: the share of time spent training, and a log of JSON lines.

t_session (Samsung, Eq. 2: time spent in the TensorFlow session / elapsed time) is, here,

    seconds inside calls of the training step that had a batch / elapsed seconds,

where "elapsed" is the wall-clock time of the training loop without dev evaluations and checkpoints, which are not
waits for data. So it counts all waits of the step for examples, the first fill of the pool included,
and with several ranks the wait of one rank for the others' gradients as time in the session, as in Horovod.
"""

import json
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sonorant.atomic import atomic_write, make_folder, refused

__all__ = ["MetricsLog", "SessionMeter"]


class SessionMeter:
    """Adds up time inside steps and elapsed time; `session_s`, `elapsed_s` and `audio_s` start at a checkpoint's."""

    def __init__(self, session_s: float = 0.0, elapsed_s: float = 0.0, audio_s: float = 0.0, window: int = 50) -> None:
        self.session_s = session_s
        self.elapsed_s = elapsed_s
        self.audio_s = audio_s
        self._recent: deque[tuple[float, float, float]] = deque(maxlen=window)

    def add(self, session_s: float, elapsed_s: float, audio_s: float) -> None:
        """Add one iteration of the loop; `elapsed_s` includes `session_s`."""
        self.session_s += session_s
        self.elapsed_s += elapsed_s
        self.audio_s += audio_s
        self._recent.append((session_s, elapsed_s, audio_s))

    @property
    def t_session(self) -> float:
        """Since training began, over all resumptions."""
        return self.session_s / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def recent_t_session(self) -> float:
        """Over the last `window` iterations."""
        elapsed_s = sum(e for _, e, _ in self._recent)
        return sum(s for s, _, _ in self._recent) / elapsed_s if elapsed_s else 0.0

    @property
    def recent_audio_hours_per_second(self) -> float:
        """Hours of audio trained on per second, over the last `window` iterations."""
        elapsed_s = sum(e for _, e, _ in self._recent)
        return sum(a for _, _, a in self._recent) / 3600 / elapsed_s if elapsed_s else 0.0


class MetricsLog:
    """JSON lines, each with a `kind`, appended to one file."""

    def __init__(self, path: Path, time_s: float) -> None:
        """Open `path`; lines after `time_s`, void since a crash, are dropped."""
        make_folder(path.parent)
        if path.exists():
            kept = [line for line in path.read_text().splitlines() if _belongs(line, time_s)]
            atomic_write(path, "".join(f"{line}\n" for line in kept))
        self._path = path
        self._file = path.open("a", buffering=1)

    def write(self, kind: str, figures: Mapping[str, Any]) -> None:
        """Append one line; raises Unavailable, naming the file, when the file system refuses."""
        try:
            self._file.write(json.dumps({"kind": kind, **figures}) + "\n")
        except OSError as error:
            raise refused(self._path, error) from error

    def close(self) -> None:
        """Close the file."""
        with suppress(OSError):  # of a line that `write` failed to write, and raised
            self._file.close()


def _belongs(line: str, time_s: float) -> bool:
    try:
        return float(json.loads(line).get("time_s", 0.0)) <= time_s
    except ValueError:  # the partial line of a killed process
        return False

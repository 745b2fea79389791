"""A run's metrics as points of a tracker, none of them of a step that a restart might make again."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sonorant.recipe.leaves import leaves
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder

__all__ = ["Journal", "Point", "parameters"]

_KINDS = ("step", "dev", "end")
_POSITION = ("kind", "time_s", "step", "epoch")  # of a line, not figures


class Point(NamedTuple):
    """One figure at one step; time_s: of training, since its begin."""

    name: str
    value: float
    step: int
    time_s: float


class Journal:
    """Reads the points of `metrics.jsonl`, each once, in order, up to the step of the newest checkpoint.

    What is beyond it is void if the trainer is killed: it makes those steps again from the checkpoint. Names are
    TensorBoard's, such as `step/loss` and `dev/wer`; totals are `end/…`.
    """

    def __init__(self, run: RunFolder) -> None:
        self._metrics = run.metrics
        self._latest = run.checkpoints / "latest"
        self._offset = 0  # in bytes, of the first line that is unread

    def rewind(self) -> None:
        """Begin again with the first line."""
        self._offset = 0

    def points(self) -> Iterator[Point]:
        """Yield the points that are new since the last call."""
        settled = self._settled_step()
        try:
            file = self._metrics.open("rb")
        except FileNotFoundError:
            return
        with file:
            file.seek(self._offset)
            for text in file:
                line = _parsed(text)
                if not text.endswith(b"\n") or line.get("step", 0) > settled:
                    return
                self._offset += len(text)
                if line.get("kind") in _KINDS:
                    yield from _points(line)

    def _settled_step(self) -> int:
        """Return the step of the newest checkpoint; 0 if there is none."""
        try:
            return int(self._latest.read_text().strip().removeprefix("step-"))
        except (OSError, ValueError):
            return 0


def parameters(recipe: Recipe) -> dict[str, str]:
    """Return each setting of a recipe by its dotted key, less those of the tracker itself."""
    values = recipe.model_dump(mode="json", exclude={"tracking"})
    return {".".join(path): value if isinstance(value, str) else json.dumps(value) for path, value in leaves(values)}


def _parsed(text: bytes) -> dict[str, Any]:
    """Return the line's figures; none of the torn line of a process that was killed."""
    try:
        line = json.loads(text)
    except ValueError:
        return {}
    return line if isinstance(line, dict) else {}


def _points(line: Mapping[str, Any]) -> Iterator[Point]:
    figures = {key: value for key, value in line.items() if key not in _POSITION}
    for path, value in leaves(figures):
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield Point("/".join((line["kind"], *path)), float(value), int(line["step"]), float(line["time_s"]))

"""What a training begins with: of `training.init_from` the weights that match, and those that do not."""

from collections.abc import Callable

from sonorant.report.journal import Line, read_journal
from sonorant.run_folder import RunFolder

__all__ = ["InitialNote", "source_of"]

_SHOWN = 8


class InitialNote:
    """Says it once, as soon as the trainer has written it.

    begins: whether the training begins with other weights: `training.init_from` is set, and it has no checkpoint.
    """

    def __init__(self, run: RunFolder, begins: bool, say: Callable[[str], None]) -> None:
        self._run, self._say = run, say
        self._awaited = begins
        self._before = len(self._lines()) if begins else 0  # of trainings that ended without a checkpoint

    def look(self) -> None:
        """Say it if it is there; it comes before the first checkpoint, behind which the journal is not read again."""
        if not self._awaited:
            return
        self._awaited = not self._run.is_trained
        if len(lines := self._lines()) > self._before:
            self._awaited = False
            self._say(_told(lines[-1]))

    def _lines(self) -> list[Line]:
        return read_journal(self._run.metrics)["initial"]


def source_of(run: RunFolder) -> str:
    """Return the `training.init_from` that the run's training began with; empty: none, or a journal of before."""
    lines = read_journal(run.metrics)["initial"]
    return str(lines[-1]["source"]) if lines else ""


def _told(line: Line) -> str:
    text = f"begins with {line['loaded']} of {line['of']} weights of {line['source']}"
    if not (unmatched := line["unmatched"]):
        return text
    rest = f"; and {len(unmatched) - _SHOWN} more in metrics.jsonl" if len(unmatched) > _SHOWN else ""
    return f"{text}; without a match: {'; '.join(unmatched[:_SHOWN])}{rest}"

"""What a training begins with: of `training.init_from` the weights that match, and those that do not."""

from collections.abc import Callable

from sonorant.report.journal import Line, read_journal
from sonorant.run_folder import RunFolder

__all__ = ["InitialNote"]

_SHOWN = 8


class InitialNote:
    """Says it once, as soon as the trainer has written it; of a training that goes on it was said before."""

    def __init__(self, run: RunFolder, begins_with: str, say: Callable[[str], None]) -> None:
        """begins_with: the recipe's `training.init_from`; empty: nothing is ever said."""
        self._run, self._say = run, say
        self._awaited = bool(begins_with) and not self._lines()

    def look(self) -> None:
        """Say it if it is there."""
        if self._awaited and (lines := self._lines()):
            self._awaited = False
            self._say(_told(lines[-1]))

    def _lines(self) -> list[Line]:
        return read_journal(self._run.metrics)["initial"]


def _told(line: Line) -> str:
    text = f"begins with {line['loaded']} of {line['of']} weights of {line['source']}"
    if not (unmatched := line["unmatched"]):
        return text
    rest = f"; and {len(unmatched) - _SHOWN} more in metrics.jsonl" if len(unmatched) > _SHOWN else ""
    return f"{text}; without a match: {'; '.join(unmatched[:_SHOWN])}{rest}"

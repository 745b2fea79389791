"""What a training begins with: of `training.init_from` the weights that match, and those that do not."""

from collections.abc import Callable, Mapping

from sonorant.report.journal import Line, read_journal
from sonorant.run_folder import RunFolder

__all__ = ["InitialNote"]

_SHOWN = 8


class InitialNote:
    """Says it once, as soon as the trainer has written it; of a training that goes on it was said before."""

    def __init__(self, run: RunFolder, begins_with: str, say: Callable[[str], None]) -> None:
        """begins_with: the recipe's `training.init_from`; empty: nothing is ever said."""
        self._run, self._say = run, say
        self._awaited = bool(begins_with) and not _has_begun(read_journal(run.metrics))

    def look(self) -> None:
        """Say it if it is there; it comes before the first step, behind which the journal is not read again."""
        if self._awaited and _has_begun(journal := read_journal(self._run.metrics)):
            self._awaited = False
            for line in journal["initial"][-1:]:
                self._say(_told(line))


def _has_begun(journal: Mapping[str, list[Line]]) -> bool:
    return bool(journal["initial"] or journal["step"])


def _told(line: Line) -> str:
    text = f"begins with {line['loaded']} of {line['of']} weights of {line['source']}"
    if not (unmatched := line["unmatched"]):
        return text
    rest = f"; and {len(unmatched) - _SHOWN} more in metrics.jsonl" if len(unmatched) > _SHOWN else ""
    return f"{text}; without a match: {'; '.join(unmatched[:_SHOWN])}{rest}"

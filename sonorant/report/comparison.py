"""A run beside another: rates of the same test sets, and intervals of their differences, utterance by utterance."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sonorant.errors import BadRun
from sonorant.report.outcomes import outcomes_rate, read_evaluation
from sonorant.report.summary import Summary, summarise
from sonorant.run_folder import RunFolder
from sonorant.text.alignment import Unit
from sonorant.text.scoring import change_95

__all__ = ["compare"]

_UNITS: dict[str, Unit] = {"wer": "word", "cer": "character"}
_FIGURES = ("wer", "errors", "train_seconds", "t_session")


def compare(run: RunFolder, other: RunFolder, names: Iterable[str], source: str) -> Summary:
    """Return the figures of `other`, and how far `run`'s rates of the test sets `names` are from them.

    `changes` has, for each set with a word in it that both measured, `wer` and `cer`, run's rates less other's, and
    their 95 % intervals, `wer_95` and `cer_95` (see `change_95`), None where the two heard other utterances. Raises
    BadRun if `other` has no report (see `summarise`), or the two measured a set in other ways.
    """
    figures = summarise(other, source)
    there, here = read_evaluation(other), read_evaluation(run)
    before, after = there["sets"], here["sets"]
    shared = [name for name in names if all(_has_words(sets.get(name, ())) for sets in (before, after))]
    _check_alike(run, other, here.get("definitions", {}), there.get("definitions", {}), shared)
    return {
        "run": other.path.name,
        **{key: figures[key] for key in _FIGURES},
        "changes": {name: _change(before[name], after[name]) for name in shared},
    }


def _check_alike(
    run: RunFolder, other: RunFolder, here: Mapping[str, Any], there: Mapping[str, Any], names: Iterable[str]
) -> None:
    """Raise BadRun for a test set that the two runs were measured on with different sections of their recipes."""
    for name in names:
        if name in here and name in there and here[name] != there[name]:
            raise BadRun(
                f"{other.evaluation}: test set {name} was measured as {there[name]}, and in {run.evaluation} as "
                f"{here[name]}: give one of them another name, or choose sets with --set"
            )


def _has_words(outcomes: Sequence[dict[str, Any]]) -> bool:
    return any(outcome["reference"].strip() for outcome in outcomes)


def _change(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> dict[str, Any]:
    before, after = sorted(before, key=_said), sorted(after, key=_said)
    same = [_said(outcome) for outcome in before] == [_said(outcome) for outcome in after]
    change: dict[str, Any] = {}
    for name, unit in _UNITS.items():
        old, new = outcomes_rate(before, unit), outcomes_rate(after, unit)
        change |= {name: new.rate - old.rate, f"{name}_95": list(change_95(old, new)) if same else None}
    return change


def _said(outcome: dict[str, Any]) -> tuple[str, str]:
    return outcome["utterance"], outcome["reference"]

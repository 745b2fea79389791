"""The outcomes of a run's test sets, as `sonorant evaluate` writes them, and their error rates."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from sonorant.errors import BadRun
from sonorant.file_names import shown
from sonorant.json_file import read_object
from sonorant.run_folder import RunFolder
from sonorant.text.alignment import Unit
from sonorant.text.scoring import ErrorRate, score

__all__ = ["outcomes_rate", "read_evaluation"]


class _Outcome(BaseModel, strict=True):
    utterance: str
    reference: str
    hypothesis: str
    speaker: str = ""
    first_interim_ms: float | None
    final_ms: float | None


class _Evaluation(BaseModel, strict=True):
    model: str
    models: dict[str, str] = {}
    streams: dict[str, int]
    definitions: dict[str, dict[str, Any]] = {}
    sets: dict[str, list[_Outcome]]


def read_evaluation(run: RunFolder) -> dict[str, Any]:
    """Return `RunFolder.evaluation`; raises BadRun, naming what is wrong, for one that is damaged or of before."""
    again = f"remove it, and run `sonorant evaluate --run {run.path}` again"
    evaluation = read_object(run.evaluation, again)
    if "subjects" not in evaluation:
        raise BadRun(f"{run.evaluation}: of an earlier version; {again}")
    try:
        _Evaluation.model_validate(evaluation)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        key, found = ".".join(map(str, fault["loc"])), repr(fault["input"])
        raise BadRun(f"{shown(run.evaluation)}: damaged: {key}: {fault['msg']}, found {found[:60]}; {again}") from error
    if without := sorted(evaluation["sets"].keys() - evaluation["streams"].keys()):
        raise BadRun(f"{shown(run.evaluation)}: damaged: streams.{without[0]}: missing, expected a number; {again}")
    return evaluation


def outcomes_rate(outcomes: Sequence[dict[str, Any]], unit: Unit = "word") -> ErrorRate:
    """Return the error rate of the outcomes of a test set."""
    pairs = ((outcome["reference"], outcome["hypothesis"]) for outcome in outcomes)
    return score(pairs, unit, [outcome.get("speaker", "") for outcome in outcomes])

"""The trials of a tuning so far, in a file that is whole at any time."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sonorant.atomic import atomic_write
from sonorant.tuning.weights import BadTuning, Weights

__all__ = ["TrialLog"]


class TrialLog:
    """Errors by weights, written with each trial; those of another subject in the file are dropped.

    subject: names all that a trial's errors depend on but its weights. Raises BadTuning for a file that is none of its.
    """

    def __init__(self, path: Path, subject: str) -> None:
        self._path = path
        self._document: dict[str, Any] = {"subject": subject, "trials": []}
        try:
            if path.exists() and (document := json.loads(path.read_text(encoding="utf-8")))["subject"] == subject:
                self._document = document
            self._errors = {_key(trial["weights"]): int(trial["errors"]) for trial in self._document["trials"]}
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise BadTuning(f"{path}: no record of trials ({error}); remove it to tune anew") from error

    def __len__(self) -> int:
        return len(self._errors)

    def __iter__(self) -> Iterator[tuple[Weights, int]]:
        """Yield weights and errors of all trials, those of other ranges and earlier tunings too."""
        for trial in self._document["trials"]:
            yield trial["weights"], int(trial["errors"])

    def errors(self, weights: Weights) -> int | None:
        """Return the errors of a trial, None if it has not been run."""
        return self._errors.get(_key(weights))

    def add(self, weights: Weights, errors: int) -> None:
        """Write one more trial; raises Unavailable if the file cannot be written."""
        self._errors[_key(weights)] = errors
        self._document["trials"].append({"weights": dict(weights), "errors": errors})
        self._write()

    def conclude(self, result: dict[str, Any]) -> None:
        """Write the result, beside the trials."""
        self._document = {"subject": self._document["subject"], **result, "trials": self._document["trials"]}
        self._write()

    def _write(self) -> None:
        atomic_write(self._path, json.dumps(self._document, indent=1) + "\n")


def _key(weights: Weights) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(weights.items()))

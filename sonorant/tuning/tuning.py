"""The tuning of a search's weights: trials within ranges, the best of them, and by how much it is better."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sonorant.text.alignment import Unit
from sonorant.text.scoring import ErrorRate, change_95
from sonorant.tuning.direct_search import Point, best_of, minimise
from sonorant.tuning.trial import TrialRunner
from sonorant.tuning.trial_log import TrialLog
from sonorant.tuning.weights import Range, Weights

__all__ = ["Tuned", "tune"]


@dataclass(frozen=True)
class Tuned:
    """The result. start, best: weights; before, after: their error rates on the set, of words or of characters."""

    unit: Unit
    start: Weights
    best: Weights
    before: ErrorRate
    after: ErrorRate

    @property
    def gain_95(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of the decrease of the rate, see `change_95`.

        It is optimistic: the weights were chosen on the same utterances.
        """
        return change_95(before=self.after, after=self.before)

    def document(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        rate_name = {"word": "wer", "character": "cer"}[self.unit]
        ends = {"before": (self.before, self.start), "best": (self.after, self.best)}
        return {
            name: {
                "weights": dict(weights),
                "errors": rate.errors,
                f"{self.unit}s": rate.reference_words,
                rate_name: rate.rate,
                "interval_95": list(rate.interval_95),
            }
            for name, (rate, weights) in ends.items()
        } | {"decrease_95": list(self.gain_95), "utterances": len(self.before.per_utterance)}


def tune(
    runner: TrialRunner,
    log: TrialLog,
    ranges: Mapping[str, Range],
    start: Weights,
    trials: int,
    seed: int,
    done: Callable[[int], None] = lambda best: None,
) -> Tuned:
    """Return the best weights in the ranges, of so many trials and those in the log, which are not run again.

    start: the recipe's weights, those among them that are not varied. done: called after each trial, with the fewest
    errors so far. What is tried depends on ranges, start, trials and seed, not on the log.
    """
    keys = tuple(ranges)
    fewest = [int(errors) for errors in _known(log, ranges, start).values()]

    def evaluate(points: Sequence[Point]) -> list[float]:
        every: list[Weights] = [{**start, **dict(zip(keys, point, strict=True))} for point in points]
        for weights in every:
            if (known := log.errors(weights)) is not None:
                tell(known)
        for weights, errors in runner.errors([weights for weights in every if log.errors(weights) is None]):
            log.add(weights, errors)
            tell(errors)
        return [float(log.errors(weights) or 0) for weights in every]

    def tell(errors: int) -> None:
        fewest[:] = [min([errors, *fewest])]
        done(fewest[0])

    first = tuple(start[key] for key in keys)
    box = tuple(ranges.values())
    minimise(evaluate, box, first, trials, np.random.default_rng(seed))
    best: Weights = {**start, **dict(zip(keys, best_of(_known(log, ranges, start), box, first), strict=True))}
    return Tuned(runner.unit, dict(start), best, runner.rate(start), runner.rate(best))


def _known(log: TrialLog, ranges: Mapping[str, Range], start: Weights) -> dict[Point, float]:
    """Return the errors of the start and of each trial in the ranges, whichever tuning it is of."""
    return {
        tuple(weights[key] for key in ranges): float(errors)
        for weights, errors in log
        if weights == start
        or all(
            ranges[key].low <= value <= ranges[key].high if key in ranges else value == start.get(key)
            for key, value in weights.items()
        )
    }

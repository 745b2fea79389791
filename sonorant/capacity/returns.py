"""Returns of a scale-up: one that did not raise a stage's rate is undone, and not repeated for a while.

Where replicas share too few cores, each further one slows the others: the stage's rate stays. So a scale-up is judged:
once its replicas are present, for `settle_s`, the stage's rate has to be higher than before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sonorant.capacity.measurements import Measurements
from sonorant.capacity.sizing import figure

__all__ = ["Returns"]

_LEAST_GAIN = 0.25  # of the expected gain: less is noise, or taken from other stages' cores
_FED = 0.95  # share of its demand above which a trainer's rate is not limited by the stages


class _Seen(NamedTuple):
    """Measurements of a stage: the trainer's demand, CPU seconds per example, examples handed on per second."""

    demand: float
    cpu_s: float
    rate: float


@dataclass(slots=True)
class _Step:
    """From `before` replicas, with `rate` examples per second, to `after`; since_s: when all were present."""

    before: int
    rate: float
    after: int
    since_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A scale-up without a gain, and the measurements then: while they stay, so does the limit."""

    most: int
    tried: int
    seen: _Seen
    until_s: float


class Returns:
    """Scale-ups and verdicts by stage; a state machine, time passed in.

    settle_s: time until a scale-up is judged; hysteresis: share by which replicas must have grown to be judged, and
    demand, CPU time per example or rate must have grown for another try; retry_s: time until another try anyway.
    """

    def __init__(self, settle_s: float, hysteresis: float, retry_s: float) -> None:
        self._settle_s = settle_s
        self._hysteresis = hysteresis
        self._retry_s = retry_s
        self._steps: dict[str, _Step] = {}
        self._verdicts: dict[str, _Verdict] = {}

    def asked(self, stage: str, before: int, after: int, rate: float) -> None:
        """Note a stage's scale-up; small ones in a row are judged together."""
        step = self._steps.get(stage)
        if step is None or step.after < before or step.before > before:
            step = self._steps[stage] = _Step(before, rate, after)
        step.after, step.since_s = after, None

    def judge(
        self, desired: Mapping[str, int], present: Mapping[str, int], measured: Measurements, now_s: float
    ) -> None:
        """Judge scale-ups by measurements since their replicas are present, and lift expired limits.

        desired, present: desired and present replicas, by stage.
        """
        demand = measured.demand()
        for stage, count in desired.items():
            cost = measured.cost(stage)
            if demand is None or cost is None:
                continue
            now = _Seen(demand.rate, cost.cpu_s, measured.rate(stage))
            if (verdict := self._verdicts.get(stage)) and self._over(verdict, now, now_s):
                del self._verdicts[stage]
            step = self._steps.get(stage)
            if step is not None and self._may_judge(stage, step, count, present[stage], now_s):
                del self._steps[stage]
                now = now._replace(rate=measured.rate(stage, step.since_s or now_s))
                if demand.observed < _FED * demand.rate and _in_vain(step, now):
                    self._verdicts[stage] = _Verdict(step.before, step.after, now, now_s + self._retry_s)

    def most(self, stage: str, now: int) -> tuple[int | None, str]:
        """Return the replicas that a stage may have at most, None for any number, and why; now: that it has."""
        if verdict := self._verdicts.get(stage):
            return verdict.most, (
                f"{stage}: {verdict.tried} replicas handed on no more than {verdict.most}, {figure(verdict.seen.rate)} "
                "examples/s: they may share cores that are not there"
            )
        step = self._steps.get(stage)
        if step is not None and step.since_s is not None and self._counts(step):
            return max(now, step.after), ""
        return None, ""

    def begin_anew(self) -> None:
        """Reset: the training is over, or measurements are missing."""
        self._steps.clear()
        self._verdicts.clear()

    def _may_judge(self, stage: str, step: _Step, desired: int, present: int, now_s: float) -> bool:
        if desired < step.after:  # scaled down since
            del self._steps[stage]
            return False
        if present < step.after:
            step.since_s = None
            return False
        if step.since_s is None:
            step.since_s = now_s
        return self._counts(step) and now_s >= step.since_s + self._settle_s

    def _counts(self, step: _Step) -> bool:
        return step.after >= step.before * (1 + self._hysteresis)

    def _over(self, verdict: _Verdict, now: _Seen, now_s: float) -> bool:
        grown = any(value > then * (1 + self._hysteresis) for value, then in zip(now, verdict.seen, strict=True))
        return grown or now_s >= verdict.until_s


def _in_vain(step: _Step, now: _Seen) -> bool:
    promised = min(step.rate * step.after / step.before, max(now.demand, step.rate))
    return now.rate - step.rate < _LEAST_GAIN * (promised - step.rate)

"""Targets of several examples at once, for objectives that find them at less cost so than one by one."""

from collections.abc import Callable, Sequence
from typing import ParamSpec, Protocol, TypeVar, runtime_checkable

from sonorant.delivery.example import Example
from sonorant.errors import RejectedExample
from sonorant.objectives.objective import Objective, Targets

__all__ = ["JointTargets", "attempted", "jointly", "targets_of"]

P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")


@runtime_checkable
class JointTargets(Protocol):
    """An `Objective` with `joint_targets`."""

    def joint_targets(self, examples: Sequence[Example], frames: Sequence[int]) -> list[Targets | RejectedExample]:
        """Return what `Objective.targets` returns or raises for each example, to the last bit."""
        ...


def targets_of(
    objective: Objective, examples: Sequence[Example], frames: Sequence[int]
) -> list[Targets | RejectedExample]:
    """Return each example's targets, or why it cannot be trained on; frames: feature vectors of each."""
    if isinstance(objective, JointTargets):
        return objective.joint_targets(examples, frames)
    return [attempted(objective.targets, *one) for one in zip(examples, frames, strict=True)]


def attempted(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | RejectedExample:
    """Return what the function returns, or the rejection that it raises, which keeps nothing of its frames alive."""
    try:
        return function(*args, **kwargs)
    except RejectedExample as rejection:
        return rejection.with_traceback(None)


def jointly(
    function: Callable[[list[T]], Sequence[U | RejectedExample]], items: Sequence[T | RejectedExample]
) -> list[U | RejectedExample]:
    """Return the function's result for each item that is not rejected, of one call; rejections stay in their places."""
    accepted = [item for item in items if not isinstance(item, RejectedExample)]
    found = function(accepted)
    assert len(found) == len(accepted)
    results = iter(found)
    return [item if isinstance(item, RejectedExample) else next(results) for item in items]

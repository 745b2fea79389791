"""What streams wait for: features of their audio and outputs of a model, computed for one stream alone or for many.

A computation that needs them is a generator: it yields a `Step`, and receives what its front end or model would return
for this step alone. `alone` runs one such computation to its end, `together` many: in rounds, each of which has one
call of a front end or model for all streams that are due.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

__all__ = ["Batched", "Done", "Step", "Steps", "alone", "together"]

_T = TypeVar("_T")


class Batched(Protocol):
    """What computes for many streams at once: `FeatureExtractor`, from samples, and `AcousticModel`, from features."""

    def steps(self, due: Sequence[tuple[Any, Any]]) -> Sequence[tuple[Any, Any]]:
        """Return outputs and next state for the inputs and state of each stream."""


class Step(NamedTuple):
    """A step that a stream waits for: one of those that `batched.steps` takes."""

    batched: Batched
    inputs: Any
    state: Any


Steps: TypeAlias = Generator[Step, tuple[Any, Any], _T]
"""A computation with a result, which yields each step and is sent its outputs and next state."""


class Done(NamedTuple):
    """How a computation ended: with a result, or with an error."""

    result: Any = None
    error: Exception | None = None

    def value(self) -> Any:
        """Return the result; raises the error."""
        if self.error is not None:
            raise self.error
        return self.result


def alone(steps: Steps[_T]) -> _T:
    """Return the result of one computation; raises its error."""
    ((_, done),) = together([steps])
    result: _T = done.value()
    return result


def together(computations: Sequence[Steps[Any]]) -> Iterator[tuple[int, Done]]:
    """Run computations, and yield the number of each, and how it ended, when it does.

    An error ends its own computation; one of a call is raised in all that wait for it.
    """
    due: dict[int, Step] = {}
    for number, steps in enumerate(computations):
        if done := _advance(number, steps, None, due):
            yield number, done
    while due:
        waiting, due = due, {}
        for batched in dict.fromkeys(step.batched for step in waiting.values()):
            numbers = [number for number, step in waiting.items() if step.batched is batched]
            found = _call(batched, [waiting[number] for number in numbers])
            for number, outputs in zip(numbers, found, strict=True):
                if done := _advance(number, computations[number], outputs, due):
                    yield number, done


def _call(batched: Batched, steps: Sequence[Step]) -> Sequence[Any]:
    """Return the outputs of each step, or the error that all of them have in common."""
    try:
        return batched.steps([(step.inputs, step.state) for step in steps])
    except Exception as error:
        return [error] * len(steps)


def _advance(number: int, steps: Steps[Any], received: Any, due: dict[int, Step]) -> Done | None:
    """Run one computation to its next step, which is due then, or to its end; return how it ended."""
    try:
        due[number] = steps.throw(received) if isinstance(received, Exception) else steps.send(received)
    except StopIteration as end:
        return Done(end.value)
    except Exception as error:
        return Done(error=error)
    return None

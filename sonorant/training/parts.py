"""What a trainer is made of, and what a service provides to it."""

from collections.abc import Callable
from dataclasses import dataclass

from sonorant.delivery.ledger import Ledger
from sonorant.recipe.schema import Recipe
from sonorant.training.checkpoints import Checkpoints
from sonorant.training.collective import Collective
from sonorant.training.evaluation import Evaluator
from sonorant.training.example_source import ExampleSource
from sonorant.training.feeder import Feeder
from sonorant.training.initial_weights import InitialWeights
from sonorant.training.reporting import Reporter
from sonorant.training.step import TrainStep

__all__ = ["TrainerParts", "TrainerPorts"]


@dataclass(frozen=True)
class TrainerPorts:
    """What a service provides to a trainer.

    generation: the gang's, at the ledger. clock: seconds, monotonic. terminated: whether a signal ends training.
    on_iteration: called in every iteration.
    """

    source: ExampleSource
    ledger: Ledger
    generation: int
    checkpoints: Checkpoints
    reporter: Reporter
    collective: Collective
    clock: Callable[[], float]
    terminated: Callable[[], bool]
    on_iteration: Callable[[], None]


@dataclass(frozen=True)
class TrainerParts:
    """The parts of a loop.

    held_up: called at every step for which this rank has a batch and another is late; None: no step waits for a late
    rank (`pipeline.order: fast`). initial: weights to start with, if not all are random.
    """

    recipe: Recipe
    step: TrainStep
    feeder: Feeder
    evaluator: Evaluator
    held_up: Callable[[], None] | None
    initial: InitialWeights | None = None

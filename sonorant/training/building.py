"""Constructs a rank's trainer, in the order of its parts' dependencies."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sonorant.models.computation import set_computation
from sonorant.models.family import Model
from sonorant.models.language_model import LanguageModel
from sonorant.models.registry import build_model
from sonorant.objectives.registry import build_objective
from sonorant.recipe.schema import Recipe
from sonorant.text.units import Units
from sonorant.training.accumulation import check_sums
from sonorant.training.checkpoints import Checkpoint, Progress
from sonorant.training.collective import Collective
from sonorant.training.evaluation import DevUtterance, Evaluator, WerEvaluator
from sonorant.training.fast_intake import FastIntake
from sonorant.training.feeder import Feeder
from sonorant.training.initial_weights import InitialWeights, read_source
from sonorant.training.intake import Intake
from sonorant.training.labeller import Labeller
from sonorant.training.loop import Trainer
from sonorant.training.parts import TrainerParts, TrainerPorts
from sonorant.training.perplexity import PerplexityEvaluator
from sonorant.training.strict_intake import StrictIntake
from sonorant.training.text_labeller import TextLabeller
from sonorant.training.unrolling import batch_layout, build_step
from sonorant.training.weight_source import check_source

__all__ = ["TrainingData", "build_trainer", "resumed_progress"]


@dataclass(frozen=True)
class TrainingData:
    """The training examples' properties, and dev.

    bins: values in a feature vector. shard_counts: records in each shard. dev: the rank's share of dev, taken when the
    trainer runs; sentences where a language model is trained.
    """

    units: Units
    bins: int
    shard_counts: Sequence[int]
    dev: Iterable[DevUtterance] | Iterable[str]


def resumed_progress(checkpoint: Checkpoint | None, ranks: int) -> Progress:
    """Return the progress at which a gang of `ranks` resumes; a gang of a new size reuses no batch's number."""
    progress = checkpoint.progress if checkpoint else Progress()
    if len(progress.batches) != ranks:
        progress.batches = [max(progress.batches, default=0)] * ranks
    return progress


def build_trainer(
    recipe: Recipe, data: TrainingData, checkpoint: Checkpoint | None, progress: Progress, ports: TrainerPorts
) -> Trainer:
    """Return a rank's trainer that resumes from a checkpoint, or begins; its feeder is not started yet.

    progress: that of the checkpoint, see `resumed_progress`. Before the first batch rank 0 reads `training.init_from`;
    raises BadRecipe, BadCheckpoint or BadExport if it cannot be used, or mWER has no model to go on from.
    """
    objective = build_objective(recipe, data.units)
    model = build_model(recipe.model, data.bins, data.units.size, seed=recipe.seed)
    set_computation(model, recipe.training.precision)
    step = build_step(model, objective, recipe, ports.collective, ports.on_iteration)
    if checkpoint:
        check_sums(checkpoint.progress.summed, objective.reports if step.sums_batches else ())
        step.restore(checkpoint)
    labeller = (TextLabeller if recipe.of_text else Labeller)(objective, data.shard_counts)
    intake, held_up = _build_intake(recipe, data, progress, ports)
    return Trainer(
        TrainerParts(
            recipe=recipe,
            step=step,
            feeder=Feeder(
                ports.source,
                ports.ledger,
                ports.generation,
                intake,
                labeller,
                batch_layout(objective, recipe),
                recipe.training.epochs,
                measure=not progress.begun,
            ),
            evaluator=_evaluator(recipe, model, data, ports.collective),
            held_up=held_up,
            initial=_initial_weights(recipe, data, model, ports.collective) if not progress.begun else None,
        ),
        ports,
        progress,
    )


def _evaluator(recipe: Recipe, model: Model, data: TrainingData, collective: Collective) -> Evaluator:
    dev: Any = data.dev
    if isinstance(model, LanguageModel):
        return PerplexityEvaluator(model, data.units, dev, collective)
    return WerEvaluator(model, data.units, dev, collective, recipe.decoding.end_threshold)


def _initial_weights(recipe: Recipe, data: TrainingData, model: Model, collective: Collective) -> InitialWeights | None:
    """Return the weights to start with, the same on all ranks, or None."""
    check_source(recipe.training)
    source = recipe.training.init_from
    if not source:
        return None
    read = None
    if collective.rank == 0:
        found = read_source(Path(source))
        read = InitialWeights.of(source, found, model, data.units, _weights_by_unit(recipe, data, model))
    return collective.broadcast(read)


def _weights_by_unit(recipe: Recipe, data: TrainingData, model: Model) -> set[str]:
    """Return the names of weights that have a part for each unit: with one more unit they have another shape."""
    wider = build_model(recipe.model, data.bins, data.units.size + 1, seed=recipe.seed).named_weights()
    return {name for name, array in model.named_weights().items() if wider[name].shape != array.shape}


def _build_intake(
    recipe: Recipe, data: TrainingData, progress: Progress, ports: TrainerPorts
) -> tuple[Intake, Callable[[], None] | None]:
    """Return the intake of the recipe's order, and the callback `TrainerParts.held_up`."""
    rank = ports.collective.rank
    begin = (rank, progress.epoch, progress.batches[rank])
    if recipe.pipeline.order == "fast":
        return FastIntake(recipe.training, recipe.seed, *begin), None
    strict = StrictIntake.of(recipe, data.shard_counts, ports.ledger.settled(progress.epoch), *begin)
    return strict, strict.widen

"""The trainer's intake: padding, randomness of batches, and waits of the step.

Batches are drawn from a pool sorted by length. What that could cost is randomness, judged by two figures: the
correlation of successive batches' lengths (1 for a corpus sorted by length), and how often two utterances that
shared a batch share one again in the next epoch. The step is a sleep, as a GPU's is for the processor that feeds it;
it lasts as long as lets it use 80 % of what the stages can make.
"""

import time
from collections.abc import Iterator, Sequence
from itertools import combinations, islice

import numpy as np

from benchmarks.rigs.pipeline import EPOCHS, PipelineRun
from benchmarks.row import Progress, Row
from services.coordination.redis_ledger import RedisLedger
from sonorant.arrays import IntArray
from sonorant.delivery.example import Lineage
from sonorant.delivery.order import EpochOrder
from sonorant.objectives.registry import build_objective
from sonorant.recipe.pipeline import PipelineRecipe
from sonorant.recipe.schema import Recipe
from sonorant.recipe.training import TrainingRecipe
from sonorant.text.units import Units
from sonorant.training.fast_intake import FastIntake
from sonorant.training.feeder import EpochEnd, Feeder
from sonorant.training.intake import Form
from sonorant.training.labeller import Labeller
from sonorant.training.pool import Labelled
from sonorant.training.unrolling import batch_layout

__all__ = ["epoch_batches", "padding", "rows"]

_CORPUS = 8000
_VECTORS_HZ = 25  # 10 ms hops, stride 4
_CASES = (
    {"pool_examples": 256, "batch_examples": 32},
    {"pool_examples": 512, "batch_examples": 32},
    {"pool_examples": 512, "batch_examples": 64, "batch_vectors": 10_000},
)
_EXAMPLES, _SECONDS, _RATE_HZ = 2000, 2.0, 8000
_WARM, _BATCHES = 10, 40
_USED = 0.8  # of what the stages can make
_PATIENCE_S = 60.0


def rows(progress: Progress) -> Iterator[Row]:
    """Yield what the pool does to padding and order, then the share of time that a fed step does not wait."""
    lengths = _librispeech_like(np.random.default_rng(0))
    for settings in _CASES:
        case = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in settings.items())
        progress(case)
        yield from _order(lengths, TrainingRecipe.model_validate(settings), case)
    progress("a step that uses 80 % of what the stages can make")
    yield from _fed()


def _librispeech_like(rng: np.random.Generator) -> IntArray:
    """Return vectors of utterances, two thirds about 14.6 s, the rest below; LibriSpeech's mean is 12.3 s."""
    seconds = np.where(rng.random(_CORPUS) < 2 / 3, rng.normal(14.6, 1.2, _CORPUS), rng.uniform(1.5, 14, _CORPUS))
    vectors: IntArray = np.rint(np.clip(seconds, 1.5, 17) * _VECTORS_HZ).astype(np.int64)
    return vectors


def _order(lengths: IntArray, recipe: TrainingRecipe, case: str) -> Iterator[Row]:
    batches = epoch_batches(lengths, recipe, 0)
    shuffled = np.random.default_rng(1).permutation(_CORPUS).reshape(-1, 32)
    yield Row("padding", case, padding(lengths, batches), "1", "random batches", padding(lengths, shuffled))
    means = np.array([lengths[list(batch)].mean() for batch in batches])
    yield Row("length correlation", case, float(np.corrcoef(means[:-1], means[1:])[0, 1]), "1")
    pairs = _pairs(batches)
    again = len(pairs & _pairs(epoch_batches(lengths, recipe, 1))) / len(pairs)
    by_chance = 2 * len(pairs) / (_CORPUS * (_CORPUS - 1))
    yield Row("met again", case, again, "1", "random batches", by_chance)


def epoch_batches(lengths: IntArray, recipe: TrainingRecipe, epoch: int) -> list[list[int]]:
    """Return the batches of an epoch whose examples come in the order in which they are leased."""
    intake = FastIntake(recipe, seed=1, rank=0, epoch=epoch)
    order = EpochOrder([len(lengths)], 1, epoch, PipelineRecipe().lease_examples)
    coming = (ordinal for block in range(len(order)) for ordinal in order.ordinals(block).tolist())
    batches: list[list[int]] = []
    while True:
        credits = intake.credits(drained=False)
        arrived = list(islice(coming, credits))
        intake.arrived([_item(epoch, number, int(lengths[number])) for number in arrived])
        if drained := len(arrived) < credits:
            intake.arrived([])  # that was the last
        if not isinstance(intake.next_action(drained), Form):
            return batches
        batches.append([item.ordinal for item in intake.form()])


def _item(epoch: int, number: int, frames: int) -> Labelled:
    features = np.broadcast_to(np.float32(0), (frames, 1))
    return Labelled(Lineage(epoch, 0, number), number, str(number), features, {}, 0.0)


def padding(lengths: IntArray, batches: Sequence[Sequence[int]] | IntArray) -> float:
    """Return the share of all vectors in padded batches that are padding."""
    held = [lengths[np.asarray(batch)] for batch in batches]
    return 1.0 - sum(int(batch.sum()) for batch in held) / sum(int(batch.max()) * len(batch) for batch in held)


def _pairs(batches: Sequence[Sequence[int]]) -> set[tuple[int, int]]:
    return {pair for batch in batches for pair in combinations(sorted(batch), 2)}


def _fed() -> Iterator[Row]:
    recipe = _recipe()
    with PipelineRun(recipe, _EXAMPLES, _SECONDS) as run:
        ledger = RedisLedger(run.ledger_url, _EXAMPLES)
        objective = build_objective(recipe, Units("words", ("one", "two")))
        labeller, layout = Labeller(objective, [_EXAMPLES]), batch_layout(objective, recipe)
        intake = FastIntake(recipe.training, recipe.seed, rank=0)
        feeder = Feeder(run.source, ledger, 1, intake, labeller, layout, epochs=EPOCHS, measure=False)
        feeder.start()
        try:
            _train(feeder, _WARM, 0.0)
            _, elapsed_s = _train(feeder, _BATCHES, 0.0)
            step_s = elapsed_s / _BATCHES / _USED
            _train(feeder, _WARM, step_s)
            session_s, elapsed_s = _train(feeder, _BATCHES, step_s)
        finally:
            feeder.close()
            ledger.close()
    rate = recipe.training.batch_examples / step_s
    yield Row(
        "t_session", f"{_SECONDS:g} s at {_RATE_HZ // 1000} kHz, {rate:.0f} examples/s", session_s / elapsed_s, "1"
    )


def _recipe() -> Recipe:
    return Recipe.model_validate(
        {
            "version": 1,
            "name": "bench",
            "corpus": {"reader": "fsdd", "path": "none", "sample_rate_hz": _RATE_HZ},
            "text": {"units": "words"},
            "stages": [{"stage": "vtlp"}, {"stage": "room", "noise_sources": [1, 1]}],
            "features": {"kind": "power_mel", "stack": 4, "stride": 4, "high_hz": _RATE_HZ / 2},
        }
    )


def _train(feeder: Feeder, batches: int, step_s: float) -> tuple[float, float]:
    """Return the seconds within steps, and elapsed."""
    session_s, started_s = 0.0, time.monotonic()
    while batches:
        batch = feeder.get(_PATIENCE_S)
        if batch is None:
            raise TimeoutError(f"no batch came within {_PATIENCE_S:g} s")
        if isinstance(batch, EpochEnd):
            continue
        began_s = time.monotonic()
        time.sleep(step_s)
        feeder.commit(batch)
        session_s += time.monotonic() - began_s
        batches -= 1
    return session_s, time.monotonic() - started_s

"""What `pipeline.order: strict` costs: batches a trainer gets, beside those of `order: fast` in the same run.

Two pipelines of two replicas each take turns; the other one has no credit meanwhile and stands still.
The consumer does no steps: it takes batches as fast as they are made. The rate is that of the wall clock, since what
strict order costs is waiting for the slowest example of each batch.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import median
from types import TracebackType
from typing import Literal, Self

from benchmarks.rigs.pipeline import EPOCHS, PipelineRun
from benchmarks.row import Progress, Row
from services.coordination.redis_ledger import RedisLedger
from sonorant.delivery.bitmap import Bitmap
from sonorant.objectives.registry import build_objective
from sonorant.recipe.schema import Recipe
from sonorant.text.units import Units
from sonorant.training.fast_intake import FastIntake
from sonorant.training.feeder import EpochEnd, Feeder
from sonorant.training.intake import Intake
from sonorant.training.labeller import Labeller
from sonorant.training.strict_intake import StrictIntake
from sonorant.training.unrolling import batch_layout

__all__ = ["rows"]

_EXAMPLES, _SECONDS, _RATE_HZ = 8000, 2.0, 8000
_REPLICAS = 2
_STOCK, _BATCHES, _TURNS = 36, 20, 3  # stock: more batches than pool, buffer and pipeline hold
_PATIENCE_S = 60.0
_Order = Literal["fast", "strict"]


def rows(progress: Progress) -> Iterator[Row]:
    """Yield the rate of strict order, with fast as its peer."""
    progress("strict beside fast")
    with _Fed("strict") as strict, _Fed("fast") as fast:
        pairs = []
        for turn in range(_TURNS):
            rates = {fed: fed.rate() for fed in ((strict, fast) if turn % 2 else (fast, strict))}
            pairs.append((rates[strict], rates[fast]))
    case = f"{_REPLICAS} replicas, {_SECONDS:g} s at {_RATE_HZ // 1000} kHz"
    best, peer = (max(rates) for rates in zip(*pairs, strict=True))
    yield Row("strict order", case, best, "examples/s", "fast", peer, median(s / f for s, f in pairs))


class _Fed:
    """A pipeline and the feeder that takes from it."""

    def __init__(self, order: _Order) -> None:
        recipe = _recipe(order)
        self._exit = ExitStack()
        run = self._exit.enter_context(PipelineRun(recipe, _EXAMPLES, _SECONDS))
        ledger = RedisLedger(run.ledger_url, _EXAMPLES)
        self._exit.callback(ledger.close)
        objective = build_objective(recipe, Units("words", ("one", "two")))
        labeller, layout = Labeller(objective, [_EXAMPLES]), batch_layout(objective, recipe)
        if order == "strict":
            intake: Intake = StrictIntake.of(recipe, [_EXAMPLES], Bitmap(_EXAMPLES), rank=0)
        else:
            intake = FastIntake(recipe.training, recipe.seed, rank=0)
        self._feeder = Feeder(run.source, ledger, 1, intake, labeller, layout, epochs=EPOCHS, measure=False)
        self._feeder.start()
        self._exit.callback(self._feeder.close)

    def rate(self) -> float:
        """Return examples per second, those that lay ready at the start left out."""
        for _ in range(_STOCK):
            self._take()
        started_s = time.monotonic()
        return sum(self._take() for _ in range(_BATCHES)) / (time.monotonic() - started_s)

    def _take(self) -> int:
        while (batch := self._feeder.get(_PATIENCE_S)) is None or isinstance(batch, EpochEnd):
            if batch is None:
                raise TimeoutError(f"no batch came within {_PATIENCE_S:g} s")
        self._feeder.commit(batch)
        return len(batch.ordinals)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: TracebackType | type | BaseException | None) -> None:
        self._exit.close()


def _recipe(order: _Order) -> Recipe:
    return Recipe.model_validate(
        {
            "version": 1,
            "name": "bench",
            "corpus": {"reader": "fsdd", "path": "none", "sample_rate_hz": _RATE_HZ},
            "text": {"units": "words"},
            "stages": [{"stage": "vtlp"}],
            "features": {"kind": "power_mel", "stack": 4, "stride": 4, "high_hz": _RATE_HZ / 2},
            "pipeline": {"layout": "fused", "order": order, "replicas": {"example_server": _REPLICAS}},
        }
    )

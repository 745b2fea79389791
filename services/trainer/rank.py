"""One rank: restore a checkpoint, train, write the run's totals."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry

from services.coordination.redis_ledger import RedisLedger
from services.process.metrics import on_scrape
from services.process.signals import Shutdown
from services.storage.run import SharedRun
from services.tracking.mlflow_run import require_mlflow
from services.tracking.tracker import Tracker
from services.tracking.transfer import Transfer
from services.trainer.coordination import StageWatch
from services.trainer.example_source import LinkedExampleSource
from services.trainer.generation import begin_generation, run_checkpoints
from services.trainer.initial_event import log_initial
from services.trainer.metrics import rank_metrics
from sonorant.atomic import atomic_write
from sonorant.augment.chain import FEATURIZER, StageResources, build_stage
from sonorant.errors import BadRecipe
from sonorant.models.devices import has_gpu
from sonorant.recipe import Recipe
from sonorant.tensorflow import tf
from sonorant.text.units import read_units
from sonorant.training.building import TrainingData, build_trainer, resumed_progress
from sonorant.training.checkpoints import Checkpoint, Progress
from sonorant.training.collective import Collective
from sonorant.training.completion import Reason
from sonorant.training.evaluation import DevUtterance, dev_utterances
from sonorant.training.loop import Trainer
from sonorant.training.metrics import MetricsLog
from sonorant.training.parts import TrainerParts, TrainerPorts
from sonorant.training.perplexity import dev_sentences
from sonorant.training.reporting import Reporter

__all__ = ["Rank"]

_START_PATIENCE_S = 10.0
_LEAVING_S = 10.0  # for Redis to restart; whatever ends this process kills it soon after
_EXIT_AGAIN = 75  # EX_TEMPFAIL: the same command resumes

log = structlog.get_logger()


class Rank:
    """Trains as a rank of its gang until training is complete or `shutdown` is requested.

    patience_s: how long to wait for Redis at the start, at least ten seconds; metrics: where to register its own;
    on_iteration: called with every iteration of the training loop.
    """

    def __init__(
        self,
        recipe: Recipe,
        run: SharedRun,
        coordinator: str,
        redis_url: str,
        replica: str,
        collective: Collective,
        shutdown: Shutdown,
        patience_s: float = 0.0,
        metrics: CollectorRegistry | None = None,
        on_iteration: Callable[[], None] = lambda: None,
    ) -> None:
        self._on_iteration = on_iteration
        self._metrics = metrics or CollectorRegistry()
        self._shared = run
        self._run = run.folder
        self._coordinator = coordinator
        self._replica = replica
        self._collective = collective
        self._shutdown = shutdown
        self._recipe = recipe
        if self._recipe.pipeline.order == "strict":
            _check_strict(recipe, self._run.recipe, collective.size)
            tf.config.experimental.enable_op_determinism()  # else a GPU sums in any order
        require_mlflow(recipe.tracking)
        self._train = run.open_shards("train")
        self._units = read_units(self._run.shards / "units.json")
        self._bins = recipe.vector_bins
        start_patience_s = max(patience_s, _START_PATIENCE_S)
        self._ledger = RedisLedger(redis_url, self._train.total, start_patience_s=start_patience_s)
        shutdown.on_request(lambda: self._ledger.hurry(_LEAVING_S))
        self._checkpoints = run_checkpoints(run, self._recipe)

    def run(self) -> int:
        """Train; return the exit code."""
        generation, checkpoint = self._begin()
        progress = resumed_progress(checkpoint, self._collective.size)
        with (
            self._source(generation) as source,
            self._reporter(source, progress) as reporter,
            self._tracker() as tracker,
        ):
            on_scrape(self._metrics, lambda: rank_metrics(source.meter))
            trainer = self._trainer(source, reporter, generation, checkpoint, progress)
            if (initial := trainer.parts.initial) and self._collective.rank == 0:
                log_initial(initial)
            feeder = trainer.parts.feeder
            feeder.start()
            try:
                with self._shared.pushing_checkpoints() if self._collective.rank == 0 else nullcontext():
                    reason = trainer.run()
                if left_out := trainer.parts.evaluator.left_out:
                    log.warning("dev_sentences_left_out", count=left_out, reason="no units spell them")
                self._finish(reason, progress, trainer.parts, reporter)
                if tracker:
                    tracker.close("KILLED" if reason is Reason.TERMINATED else "FINISHED")
                self._collective.gather(None)  # mpirun ends all ranks soon after the first: rank 0 has written now
            finally:
                feeder.close()
        return _EXIT_AGAIN if reason is Reason.TERMINATED else 0

    def _begin(self) -> tuple[int, Checkpoint | None]:
        """Start a generation at the latest checkpoint, as rank 0; return both, the same at all ranks."""
        start: tuple[int, Checkpoint | None] | None = None
        if self._collective.rank == 0:
            start = begin_generation(self._shared, self._recipe, self._checkpoints, self._ledger, self._coordinator)
        start = self._collective.broadcast(start)
        assert start is not None
        return start

    def _source(self, generation: int) -> LinkedExampleSource:
        return LinkedExampleSource(self._recipe, self._coordinator, self._replica, generation, self._collective.rank)

    def _trainer(
        self,
        source: LinkedExampleSource,
        reporter: Reporter,
        generation: int,
        checkpoint: Checkpoint | None,
        progress: Progress,
    ) -> Trainer:
        ports = TrainerPorts(
            source=source,
            ledger=self._ledger,
            generation=generation,
            checkpoints=self._checkpoints,
            reporter=reporter,
            collective=self._collective,
            clock=time.monotonic,
            terminated=lambda: self._shutdown.requested,
            on_iteration=self._on_iteration,
        )
        data = TrainingData(self._units, self._bins, self._train.counts, self._dev())
        log.info("computation", precision=self._recipe.training.precision, gpu=has_gpu())
        return build_trainer(self._recipe, data, checkpoint, progress, ports)

    def _dev(self) -> Iterator[DevUtterance] | Iterator[str]:
        dev = self._shared.open_shards("dev")
        if self._recipe.of_text:
            return dev_sentences(dev, self._collective.rank, self._collective.size)
        featurizer = build_stage(FEATURIZER, self._recipe, StageResources(None, self._run.shards))
        return dev_utterances(dev, featurizer, self._collective.rank, self._collective.size)

    @contextmanager
    def _reporter(self, source: LinkedExampleSource, progress: Progress) -> Iterator[Reporter]:
        if self._collective.rank != 0:
            yield Reporter(worked=source.report, waited=source.waited)
            return
        metrics = MetricsLog(self._run.metrics, progress.train_s)
        with closing(StageWatch(self._coordinator, metrics)) as watch:

            def show(figures: Mapping[str, float]) -> None:
                source.show(dict(figures))
                watch.write_if_due(progress.train_s, time.monotonic())

            with closing(Reporter(metrics, self._run.tensorboard, show, source.report, source.waited)) as reporter:
                yield reporter

    @contextmanager
    def _tracker(self) -> Iterator[Tracker | None]:
        """Follow the run in the recipe's tracker, as rank 0."""
        if self._collective.rank != 0 or not self._recipe.tracking.mlflow:
            yield None
            return
        tracker = Tracker(Transfer(self._run, self._recipe), self._recipe.tracking.mlflow)
        tracker.start()
        with closing(tracker):
            yield tracker

    def _finish(self, reason: Reason, progress: Progress, parts: TrainerParts, reporter: Reporter) -> None:
        """Write the run's totals, as rank 0, unless the run was interrupted."""
        best = {f"best_{parts.evaluator.figure}": progress.best_dev}
        log.info("training_ended", reason=reason, step=progress.step, epoch=progress.epoch, **best)
        if reason is Reason.TERMINATED or self._collective.rank != 0:
            return
        totals = self._totals(reason, progress) | best | {"parameters": parts.step.model.parameters}
        reporter.end(progress, totals)
        atomic_write(self._run.totals, json.dumps(totals, indent=2) + "\n")
        self._shared.push_totals()

    def _totals(self, reason: Reason, progress: Progress) -> dict[str, object]:
        epochs = self._ledger.epochs()
        counts = {epoch: self._ledger.progress(epoch) for epoch in epochs}
        committed = sum(c.committed for c in counts.values())
        complete = [c for epoch, c in counts.items() if epoch < progress.epoch]
        return {
            "reason": str(reason),
            "train_seconds": progress.train_s,
            "t_session": progress.session_s / progress.elapsed_s if progress.elapsed_s else 0.0,
            "steps": progress.step,
            "skipped_steps": progress.skipped_steps,
            "overflowed_steps": progress.overflowed_steps,
            "epochs": progress.epoch,
            "examples": progress.examples,
            "audio_hours": progress.audio_s / 3600,
            "audio_hours_per_second": progress.audio_s / 3600 / progress.elapsed_s if progress.elapsed_s else 0.0,
            "looks_without_better": progress.looks_without_better,
            "layers": progress.layers,
            "ledger": {
                "committed": committed,
                "rejected": sum(c.rejected for c in counts.values()),
                "lost": sum(c.total - c.committed - c.rejected for c in complete),
                "duplicated": progress.examples - committed,
            },
        }


def _check_strict(recipe: Recipe, path: Path, ranks: int) -> None:
    if ranks != recipe.training.ranks:
        raise BadRecipe(
            f"{path}: pipeline.order: strict with {ranks} ranks: there must be {recipe.training.ranks}, because "
            "training.ranks decides which rank an example goes to; start as many, or set pipeline.order: fast"
        )

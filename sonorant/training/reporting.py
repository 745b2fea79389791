"""The figures of a run: to metrics.jsonl, TensorBoard and callbacks."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.scalar.summary_v2 import scalar_pb

from sonorant.tensorflow import tf
from sonorant.training.alignment_view import Alignment
from sonorant.training.checkpoints import Progress
from sonorant.training.initial_weights import InitialWeights
from sonorant.training.metrics import MetricsLog, SessionMeter
from sonorant.training.step import StepResult

__all__ = ["Reporter"]

_PIXELS = (12, 6)  # of a label and a frame in TensorBoard


class Reporter:
    """Writes rank 0's figures; other ranks have none.

    show: called with the latest of each figure after every step; worked: with this rank's seconds, examples and seconds
    of audio of every step for which it had a batch; waited: with the seconds between steps.
    """

    def __init__(
        self,
        log: MetricsLog | None = None,
        tensorboard: Path | None = None,
        show: Callable[[Mapping[str, float]], None] = lambda figures: None,
        worked: Callable[[float, int, float], None] = lambda busy_s, examples, audio_s: None,
        waited: Callable[[float], None] = lambda waited_s: None,
    ) -> None:
        self.worked = worked
        self.waited = waited
        self._log = log
        self._summaries = tf.summary.create_file_writer(str(tensorboard)) if tensorboard else None
        self._show = show
        self._evaluated = 0

    def initialised(self, progress: Progress, initial: InitialWeights) -> None:
        """Report the weights of another model that training begins with, and those that do not match."""
        if self._log:
            figures = {"source": initial.source, "loaded": len(initial.matching), "of": initial.expected}
            where = {"time_s": progress.train_s, "step": progress.step}
            self._log.write("initial", {**where, **figures, "unmatched": initial.unmatched})

    def step(
        self, progress: Progress, result: StepResult, learning_rate: float, step_s: float, meter: SessionMeter
    ) -> None:
        """Report one step, already counted in `progress`."""
        figures = {
            **result.figures,
            "learning_rate": learning_rate,
            "gradient_norm": result.gradient_norm,
            "step_s": step_s,
            "examples": result.examples,
            "audio_s": result.notes.audio_s,
            "padding_ratio": result.notes.padded / max(1.0, result.notes.vectors),
            "t_session": meter.t_session,
            "recent_t_session": meter.recent_t_session,
            "audio_hours_per_second": meter.recent_audio_hours_per_second,
        }
        self._write("step", progress, figures)
        self._show(
            {
                "step": progress.step,
                "epoch": progress.epoch,
                **result.figures,
                "t_session": meter.t_session,
                "recent_t_session": meter.recent_t_session,
                "audio_hours_per_second": meter.recent_audio_hours_per_second,
                "skipped_steps": progress.skipped_steps,
            }
        )

    def annealed(self, progress: Progress, rate: float, best_step: int) -> None:
        """Report another rate of dropout, with which training goes on from the checkpoint of `best_step`."""
        self._write("anneal", progress, {"dropout": rate, "from_step": best_step})

    def skipped(self, progress: Progress, utterances: list[str]) -> None:
        """Report the utterances of a step that was not finite, and skipped."""
        if self._log:
            self._log.write("skipped", {"time_s": progress.train_s, "step": progress.step, "utterances": utterances})

    def recognised(self, utterances: int) -> None:
        """Report recognised utterances of dev, during an evaluation."""
        self._evaluated += utterances
        self._show({"evaluated": self._evaluated})

    def dev(self, progress: Progress, figure: str, seconds: float, alignment: Alignment | None = None) -> None:
        """Report an evaluation of dev, whose result is in `progress`; figure: its name.

        alignment: left out if it is not finite, as of a model whose weights are not.
        """
        assert progress.dev is not None
        self._write("dev", progress, {figure: progress.dev, "seconds": seconds})
        self._show({figure: progress.dev})
        if alignment is not None and np.isfinite(alignment.weights).all():
            self._alignment(progress, alignment)

    def _alignment(self, progress: Progress, alignment: Alignment) -> None:
        """Log it, as percentages, and as an image whose first label is on top."""
        if self._log:
            percent = np.rint(100 * alignment.weights).astype(int).tolist()
            figures = {"labels": alignment.labels, "percent": percent}
            self._log.write("alignment", {"time_s": progress.train_s, "step": progress.step, **figures})
        if self._summaries:
            image = np.kron(alignment.weights, np.ones(_PIXELS, np.float32))[None, :, :, None]
            with self._summaries.as_default(step=progress.step):
                tf.summary.image("dev/alignment", image)

    def end(self, progress: Progress, totals: Mapping[str, Any]) -> None:
        """Report the end of training."""
        if self._log:
            self._log.write("end", {"time_s": progress.train_s, "step": progress.step, **totals})

    def close(self) -> None:
        """Flush and close the files."""
        if self._log:
            self._log.close()
        if self._summaries:
            self._summaries.close()

    def _write(self, kind: str, progress: Progress, figures: Mapping[str, float]) -> None:
        if self._log:
            self._log.write(
                kind,
                {"time_s": progress.train_s, "step": progress.step, "epoch": progress.epoch, **figures},
            )
        if self._summaries:
            summary = Summary()  # one for all: `tf.summary.scalar` is an operation for each, slow beside a step
            for name, value in figures.items():
                summary.MergeFrom(scalar_pb(f"{kind}/{name}", value))
            with self._summaries.as_default(step=progress.step):
                tf.summary.experimental.write_raw_pb(summary.SerializeToString())

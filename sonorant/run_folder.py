"""The paths of a run's files."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["RunFolder"]


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run, `runs/<name>` by default."""

    path: Path

    @property
    def recipe(self) -> Path:
        """The resolved recipe that the run was started with."""
        return self.path / "recipe.yaml"

    @property
    def shards(self) -> Path:
        """TFRecord shards of all splits, their indexes and the dataset card."""
        return self.path / "shards"

    @property
    def checkpoints(self) -> Path:
        """Checkpoints, one folder each."""
        return self.path / "checkpoints"

    @property
    def is_trained(self) -> bool:
        """Whether there are checkpoints; the folder is there from the beginning of a training."""
        return any(self.checkpoints.glob("step-*"))

    @property
    def exports(self) -> Path:
        """Exported models: `<model>/<version>/`."""
        return self.path / "exports"

    @property
    def totals(self) -> Path:
        """The totals; written once training is complete."""
        return self.path / "finished.json"

    @property
    def logs(self) -> Path:
        """One log a process."""
        return self.path / "logs"

    @property
    def redis(self) -> Path:
        """The ledger's Redis: append-only file and configuration."""
        return self.path / "redis"

    @property
    def tensorboard(self) -> Path:
        """TensorBoard summaries."""
        return self.path / "tensorboard"

    @property
    def metrics(self) -> Path:
        """JSON lines, each with a `kind` (`sonorant.report.journal`)."""
        return self.path / "metrics.jsonl"

    @property
    def tracking(self) -> Path:
        """The name by which the tracker knows the run."""
        return self.path / "tracking.json"

    @property
    def recordings(self) -> Path:
        """Test sets as WAV files, a folder and a manifest each."""
        return self.path / "recordings"

    @property
    def evaluation(self) -> Path:
        """The transcripts of each test set, utterance by utterance."""
        return self.path / "evaluation.json"

    @property
    def tuning(self) -> Path:
        """The trials of tuning the weights of the search, and the best."""
        return self.path / "tuning.json"

    @property
    def tuning_outputs(self) -> Path:
        """The model's outputs that tuning searches, a folder for each set."""
        return self.path / "tuning"

    @property
    def report(self) -> Path:
        """The page with plots; report.json beside it has every figure."""
        return self.path / "report.html"

    @property
    def summary(self) -> Path:
        """Every figure of the report."""
        return self.path / "report.json"

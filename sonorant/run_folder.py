"""Where one run keeps its files."""

from dataclasses import dataclass
from pathlib import Path

__all__ = ["RunFolder"]


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run, `runs/<name>` unless told otherwise."""

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
    def exports(self) -> Path:
        """Exported models: `<model>/<version>/`."""
        return self.path / "exports"

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
        """JSON lines, each with a `kind`: step, dev, stages."""
        return self.path / "metrics.jsonl"

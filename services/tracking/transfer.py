"""From a run's files to MLflow: what MLflow lacks, and nothing twice."""

import json
import uuid
from collections.abc import Iterable
from pathlib import Path

from services.tracking.mlflow_run import MlflowRun
from sonorant.atomic import atomic_write
from sonorant.recipe import Recipe
from sonorant.run_folder import RunFolder
from sonorant.tracking.journal import Journal, Point, parameters

__all__ = ["Transfer"]


class Transfer:
    """Sends the run in a folder to the tracker that its recipe names.

    Methods raise what MLflow's client raises; the next call then finds out anew what MLflow has.
    """

    def __init__(self, run: RunFolder, recipe: Recipe) -> None:
        self._run = run
        self._recipe = recipe
        self._journal = Journal(run)
        self._mlflow: MlflowRun | None = None

    def send(self, status: str) -> None:
        """Send settings, the figures up to the newest checkpoint, and the status: RUNNING, FINISHED or KILLED."""
        mlflow, self._mlflow = self._mlflow or self._opened(), None
        mlflow.add_points(self._journal.points())
        mlflow.set_status(status)
        self._mlflow = mlflow

    def send_report(self, figures: Iterable[Point], files: Iterable[Path]) -> None:
        """Send figures of test sets, those that have changed, and files."""
        mlflow, self._mlflow = self._mlflow or self._opened(), None
        mlflow.revise(figures)
        for path in files:
            mlflow.add_file(path)
        self._mlflow = mlflow

    def _opened(self) -> MlflowRun:
        self._journal.rewind()
        mlflow = MlflowRun(self._recipe.tracking, self._run.path.absolute().name, self._key())
        mlflow.add_parameters(parameters(self._recipe))
        return mlflow

    def _key(self) -> str:
        """Return the run's name in MLflow, kept in its folder: a restart finds the run that it has there."""
        try:
            return str(json.loads(self._run.tracking.read_text())["key"])
        except (OSError, ValueError, KeyError, TypeError):
            key = uuid.uuid4().hex
            atomic_write(self._run.tracking, json.dumps({"key": key}) + "\n")
            return key

"""One run in MLflow, found again by its tag, and what is written to it."""

import importlib.util
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sonorant.errors import BadRecipe
from sonorant.tracking.journal import Point
from sonorant.tracking.section import TrackingRecipe

__all__ = ["MlflowRun", "mlflow_client", "require_mlflow"]

# MLflow's own limits of a request, and of a parameter by its earlier versions.
_MOST_POINTS = 1000
_MOST_PARAMETERS = 100
_LONGEST_VALUE = 500
_TICK_S = 0.001  # of MLflow's times
_TAG = "sonorant.run"
# The client's own retries take minutes; `Tracker` tries again. No figures of its use are sent to MLflow's makers.
_SETTINGS = {
    "MLFLOW_ALLOW_FILE_STORE": "true",
    "MLFLOW_CONFIGURE_LOGGING": "false",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
}
_NOT_A_FOLDER = re.compile(r"[a-z][a-z0-9+.-]*:|(databricks|uc)$")


def require_mlflow(tracking: TrackingRecipe) -> None:
    """Raise BadRecipe if the recipe names a tracker, and its library is not installed."""
    if tracking.mlflow and importlib.util.find_spec("mlflow") is None:
        raise BadRecipe(
            f"tracking.mlflow={tracking.mlflow}: MLflow's client is not installed; "
            "`.venv/bin/pip install -e '.[tracking]'` in sonorant's folder brings it, or leave tracking.mlflow out"
        )


class MlflowRun:
    """The run of an experiment that has `key` as its tag, made if there is none.

    All methods raise what MLflow's client raises, which has no common root; after an error it is unknown what MLflow
    has, and a new `MlflowRun` finds out.
    """

    def __init__(self, tracking: TrackingRecipe, name: str, key: str) -> None:
        self._client = mlflow_client(tracking.mlflow)
        experiment = self._client.get_experiment_by_name(tracking.experiment)
        number = experiment.experiment_id if experiment else self._client.create_experiment(tracking.experiment)
        found = self._client.search_runs([number], f"tags.`{_TAG}` = '{key}'", max_results=1)
        run = found[0] if found else self._client.create_run(number, run_name=name, tags={_TAG: key})
        self._id: str = run.info.run_id
        self._begin_ms: int = run.info.start_time
        self._status: str = run.info.status
        self._parameters = set(run.data.params)
        self._last = {name: self._history(name)[-1] for name in run.data.metrics}

    def add_parameters(self, values: Mapping[str, str]) -> None:
        """Add the parameters that it lacks; one that it has stays, as MLflow never changes any."""
        from mlflow.entities import Param

        new = [Param(key, value[:_LONGEST_VALUE]) for key, value in values.items() if key not in self._parameters]
        for start in range(0, len(new), _MOST_PARAMETERS):
            self._client.log_batch(self._id, params=new[start : start + _MOST_PARAMETERS])
        self._parameters.update(values)

    def add_points(self, points: Iterable[Point]) -> None:
        """Add the points after the last one of their name; they come in the order of steps."""
        batch: list[Point] = []
        for point in points:
            if point.name not in self._last or point.step > self._last[point.name].step:
                batch.append(point)
                self._last[point.name] = point
            if len(batch) == _MOST_POINTS:
                self._add(batch)
                batch = []
        self._add(batch)

    def revise(self, points: Iterable[Point]) -> None:
        """Add the points whose value is not the last of their name, after it, at whatever step that is."""
        new = []
        for point in points:
            last = self._last.get(point.name)
            if last is None or last.value != point.value:
                new.append(point if last is None else point._replace(time_s=max(point.time_s, last.time_s + _TICK_S)))
        self._last.update((point.name, point) for point in new)
        self._add(new)

    def set_status(self, status: str) -> None:
        """Set MLflow's status: RUNNING, FINISHED or KILLED."""
        if status == self._status:
            return
        if status == "RUNNING":
            self._client.update_run(self._id, status)
        else:
            self._client.set_terminated(self._id, status)
        self._status = status

    def add_file(self, path: Path) -> None:
        """Add a file to the run's artifacts, or replace it."""
        self._client.log_artifact(self._id, str(path))

    def _add(self, points: list[Point]) -> None:
        """Add points; their times are counted from the run's begin, so that a repeated one is equal to the first."""
        from mlflow.entities import Metric

        metrics = [Metric(p.name, p.value, self._begin_ms + round(1000 * p.time_s), p.step) for p in points]
        if metrics:
            self._client.log_batch(self._id, metrics)

    def _history(self, name: str) -> list[Point]:
        """Return the points of a name in the order of steps."""
        found = self._client.get_metric_history(self._id, name)
        return sorted((Point(name, m.value, m.step, (m.timestamp - self._begin_ms) / 1000) for m in found), key=_step)


def _step(point: Point) -> tuple[int, float]:
    return point.step, point.time_s


def mlflow_client(uri: str) -> Any:
    """Return MLflow's client; its settings are from the environment, and where it has none, our own."""
    for name, value in _SETTINGS.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient

    return MlflowClient(uri if _NOT_A_FOLDER.match(uri) else Path(uri).absolute().as_uri())

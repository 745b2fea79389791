"""A run's metrics and checkpoints as a trainer leaves them, and what MLflow has of it."""

import contextlib
import json

from rigs.small_corpus import digits_recipe

from services.tracking.mlflow_run import mlflow_client
from sonorant.recipe.schema import Recipe
from sonorant.run_folder import RunFolder
from sonorant.training.metrics import MetricsLog


def tracked_recipe(uri, **values):
    return Recipe.model_validate(digits_recipe().model_dump(mode="json") | {"tracking": {"mlflow": str(uri)}} | values)


class TrackedRun:
    """Steps of a made-up training; step n is made at n seconds, and its loss is n + `luck`."""

    def __init__(self, folder):
        self.folder = RunFolder(folder)
        self.resume()

    def resume(self, step=0):
        """Drop what comes after a checkpoint's step, as the trainer does."""
        MetricsLog(self.folder.metrics, float(step)).close()

    def make(self, *steps, luck=0.0):
        for step in steps:
            self.write("step", step, epoch=0, loss=step + luck, gradient_norm=2.0 * step)

    def write(self, kind, step, **figures):
        with contextlib.closing(MetricsLog(self.folder.metrics, float(step))) as log:
            log.write(kind, {"time_s": float(step), "step": step, **figures})

    def save(self, step):
        self.folder.checkpoints.mkdir(exist_ok=True)
        (self.folder.checkpoints / "latest").write_text(f"step-{step:08d}")


def tracked(uri, experiment="sonorant"):
    """Return the runs of an experiment, and of each {metric: [(step, value), …]} as they were written."""
    client = mlflow_client(str(uri))
    runs = client.search_runs([client.get_experiment_by_name(experiment).experiment_id])
    return [(run, {name: _points(client, run, name) for name in run.data.metrics}) for run in runs]


def logged(folder):
    """Return the same of `metrics.jsonl`, kinds step and dev."""
    found = {}
    for text in folder.metrics.read_text().splitlines():
        line = json.loads(text)
        if line["kind"] in ("step", "dev"):
            for name in line.keys() - {"kind", "time_s", "step", "epoch"}:
                found.setdefault(f"{line['kind']}/{name}", []).append((line["step"], line[name]))
    return found


def _points(client, run, name):
    return [(metric.step, metric.value) for metric in client.get_metric_history(run.info.run_id, name)]

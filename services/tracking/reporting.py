"""A finished run's report, to the tracker that its recipe names."""

from collections.abc import Mapping
from typing import Any

from services.process.secrets import masked
from services.tracking.mlflow_run import require_mlflow
from services.tracking.transfer import Transfer
from sonorant.recipe import Recipe
from sonorant.run_folder import RunFolder
from sonorant.tracking.journal import Point

__all__ = ["track_report"]


def track_report(run: RunFolder, recipe: Recipe, figures: Mapping[str, Any]) -> str:
    """Send what the tracker lacks of the run, its test sets' error rates, and its report; return a line that tells it.

    figures: of `report.json`. Raises BadRecipe if the tracker's library is missing; no failure of the tracker.
    """
    require_mlflow(recipe.tracking)
    uri = masked(recipe.tracking.mlflow)
    transfer = Transfer(run, recipe)
    try:
        transfer.send("FINISHED")
        transfer.send_report(_rates(figures), (run.recipe, run.summary, run.report))
    except Exception as error:  # the client's errors have no common root, and the report is made
        reason = masked(f"{type(error).__name__}: {error}")
        return f"{uri}: not tracked ({reason}); the same command tries again"
    return f"{uri}: tracked as {run.path.absolute().name}"


def _rates(figures: Mapping[str, Any]) -> list[Point]:
    """Return word and character error rates of the test sets, as far as they have any, at the last step."""
    position = (int(figures["steps"] or 0), float(figures["train_seconds"]))
    rates = {f"test/{name}/wer": rate for name, rate in figures["wer"].items()}
    rates |= {f"test/{name}/cer": errors["cer"] for name, errors in figures["errors"].items()}
    return [Point(name, rate, *position) for name, rate in rates.items() if rate is not None]

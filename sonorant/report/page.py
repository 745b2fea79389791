"""The page of a report: tables and plots."""

from pathlib import Path
from typing import Any

import jinja2

from sonorant.recipe.loading import load_recipe
from sonorant.report.confusions import confusion_table
from sonorant.report.journal import read_journal
from sonorant.report.outcomes import read_evaluation
from sonorant.report.plots import alignment_plot, durations_plot, learning_plot, rates_plot, stages_plot
from sonorant.report.stage_view import view_stages
from sonorant.report.summary import Summary
from sonorant.run_folder import RunFolder

__all__ = ["render_page"]


def render_page(run: RunFolder, data_folder: Path, figures: Summary) -> str:
    """Return the page that shows the figures of a run, as HTML; the noise that stages add is below `data_folder`."""
    recipe = load_recipe(run.recipe)
    journal = read_journal(run.metrics)
    outcomes = read_evaluation(run)["sets"]
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sonorant.report", "."), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page: str = environment.get_template("page.html.j2").render(
        name=recipe.name,
        figures=figures,
        compared=figures.get("compared"),
        initial=journal["initial"][-1] if journal["initial"] else None,
        percent=_percent,
        interval=lambda ends: " – ".join(map(_percent, ends)) if ends else "–",
        points=lambda interval: "{:+.1f} to {:+.1f} points".format(*(100 * end for end in interval)),
        ms=lambda value: "–" if value is None else f"{value:.0f} ms",
        learning=learning_plot(journal["step"], journal["dev"]),
        rates=rates_plot(journal["step"], journal["stages"]),
        alignment=alignment_plot(journal["alignment"]) if journal["alignment"] else None,
        durations=durations_plot(_histograms(figures)),
        stages=stages_plot(view_stages(recipe, run, data_folder)),
        confusions={name: confusion_table(outcomes[name]) for name in figures["wer"]},
    )
    return page


def _percent(fraction: float | None) -> str:
    return "–" if fraction is None else f"{100 * fraction:.2f} %"


def _histograms(figures: Summary) -> dict[str, dict[str, Any]]:
    return {name: split["length_histogram"] for name, split in figures["corpus"]["splits"].items()}

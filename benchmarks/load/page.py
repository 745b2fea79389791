"""The report of a load experiment: a table of its figures, and plots."""

from collections.abc import Mapping, Sequence

import jinja2
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from benchmarks.load.experiment import STEP_FIGURES, Results
from benchmarks.load.latency import PERCENTILES, percentile
from benchmarks.load.step import Step
from sonorant.report.plots import svg_text

__all__ = ["render_page"]

_SHOWN = [*(share / 1000 for share in range(0, 1000, 5)), 0.996, 0.997, 0.998, 0.999, 1.0]


def render_page(results: Results) -> str:
    """Return the report as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("benchmarks.load", "."), autoescape=True, undefined=jinja2.StrictUndefined
    )
    several = {name: steps for name, steps in results.series.items() if len(steps) > 1}
    answered = any(step.finals_s for steps in results.series.values() for step in steps)
    page: str = environment.get_template("page.html.j2").render(
        results=results,
        rows=[row for row in results.rows if not results.series or row.name not in STEP_FIGURES],
        percentiles=list(PERCENTILES),
        figure=lambda value: "–" if value is None else f"{value:.3g}",
        latency=_latency_plot(several, results.slo_ms) if several and answered else None,
        cpu=_cpu_plot(several) if several else None,
        distribution=_distribution_plot(results.series, results.slo_ms) if answered else None,
        users=_users_plot(results.users) if results.users else None,
    )
    return page


def _latency_plot(series: Mapping[str, Sequence[Step]], slo_ms: float) -> str:
    """Percentiles of final results, and p95 of first interim ones, over the number of streams; a column a series."""
    figure: Figure
    figure, columns = plt.subplots(1, len(series), figsize=(8, 3.4), sharey=True, squeeze=False)
    for axes, (name, steps) in zip(columns[0], series.items(), strict=True):
        answered = [step for step in steps if step.finals_s]
        streams = [step.streams for step in answered]
        for label, share in PERCENTILES.items():
            values_ms = [1000 * percentile(step.finals_s, share) for step in answered]
            axes.semilogy(streams, values_ms, "o-", markersize=3, label=f"final, {label}")
        values_ms = [1000 * percentile(step.interims_s, PERCENTILES["p95"]) for step in answered]
        axes.semilogy(streams, values_ms, "s--", markersize=3, label="first interim, p95")
        axes.axhline(slo_ms, color="black", linewidth=0.7)
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("streams")
    columns[0][0].set_ylabel("latency (ms)")
    columns[0][-1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return svg_text(figure)


def _cpu_plot(series: Mapping[str, Sequence[Step]]) -> str:
    """CPU time of server and clients an audio-second, over the number of streams."""
    figure, axes = plt.subplots(figsize=(8, 2.8))
    for name, steps in series.items():
        heard = [step for step in steps if step.audio_s]
        streams = [step.streams for step in heard]
        if all(step.server_cpu_s is not None for step in heard):
            used_ms = [1000 * (step.server_cpu_s or 0.0) / step.audio_s for step in heard]
            axes.plot(streams, used_ms, "o-", markersize=3, label=f"server, {name}")
        used_ms = [1000 * step.client_cpu_s / step.audio_s for step in heard]
        axes.plot(streams, used_ms, ":", label=f"clients, {name}")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("streams")
    axes.set_ylabel("CPU ms an audio-second")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return svg_text(figure)


def _distribution_plot(series: Mapping[str, Sequence[Step]], slo_ms: float) -> str:
    """Latency of final results by percentile, from the median on as far out as the nines go; a line a step."""
    figure, axes = plt.subplots(figsize=(8, 3.4))
    for name, steps in series.items():
        for step in (step for step in steps if step.finals_s):
            values_ms = [1000 * percentile(step.finals_s, share) for share in _SHOWN]
            rarity = [1 / max(1 - share, 5e-4) for share in _SHOWN]
            axes.loglog(rarity, values_ms, linewidth=1, label=f"{step.streams}, {name}")
    axes.axhline(slo_ms, color="black", linewidth=0.7)
    axes.set_xticks([2, 10, 20, 100, 1000], labels=["50 %", "90 %", "95 %", "99 %", "99.9 %"])
    axes.minorticks_off()
    axes.set_xlabel("percentile")
    axes.set_ylabel("final result (ms)")
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    return svg_text(figure)


def _users_plot(batches: Sequence[Mapping[str, float]]) -> str:
    """Latency (median and quartiles) and throughput over the number of users, as the thesis's Figure 6.3."""
    figure: Figure
    figure, (latency, throughput) = plt.subplots(1, 2, figsize=(8, 3.2))
    users = [batch["users"] for batch in batches]
    latency.fill_between(users, [batch["p25"] for batch in batches], [batch["p75"] for batch in batches], alpha=0.3)
    latency.loglog(users, [batch["p50"] for batch in batches], "o-", markersize=3)
    latency.set_ylabel("request (ms): median, quartiles")
    throughput.semilogx(users, [batch["throughput"] for batch in batches], "o-", markersize=3)
    throughput.set_ylim(bottom=0)
    throughput.set_ylabel("audio-seconds a second")
    for axes in (latency, throughput):
        axes.set_xlabel("users")
    figure.tight_layout()
    return svg_text(figure)

"""A plot of plans over the number of GPUs, with their limits, as SVG."""

from collections.abc import Mapping, Sequence

from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from sonorant.capacity.cluster_plan import ClusterPlan
from sonorant.capacity.control_plane import MOST_LINKS
from sonorant.report.plots import svg_text

__all__ = ["scaling_plot"]


def scaling_plot(plans: Sequence[ClusterPlan], simulated: Mapping[int, float]) -> str:
    """Return the plot of plans for growing numbers of GPUs: rate, cores by stage, load of the parts that cannot grow.

    simulated: examples per second of the simulation, by number of GPUs.
    """
    gpus = [plan.trainer.ranks for plan in plans]
    figure: Figure
    figure, (rate, cores, load) = plt.subplots(1, 3, figsize=(13, 3.6))
    rate.loglog(gpus, [plan.demand for plan in plans], ":", color="black", label="what GPUs could take")
    rate.loglog(gpus, [plan.rate for plan in plans], label="planned")
    rate.loglog(list(simulated), list(simulated.values()), "o", label="simulated")
    rate.set_ylabel("examples/s")
    names = [stage.stage for stage in plans[0].stages]
    cores.stackplot(gpus, [[plan.stages[at].cores for plan in plans] for at in range(len(names))], labels=names)
    cores.set_xscale("log")
    cores.set_ylabel("cores")
    load.semilogx(gpus, [plan.control.coordinator_cores for plan in plans], label="coordinator: its core")
    load.semilogx(gpus, [plan.control.redis_cores for plan in plans], label="Redis: its core")
    links = [max(plan.trainer.links, *(stage.links for stage in plan.stages)) for plan in plans]
    load.semilogx(gpus, [count / MOST_LINKS for count in links], label=f"links of a replica, of {MOST_LINKS}")
    load.axhline(1.0, color="black", linewidth=0.7)
    load.set_ylabel("share of what is possible")
    for axes in (rate, cores, load):
        axes.set_xlabel("GPUs")
        axes.legend(frameon=False, fontsize=7)
    figure.tight_layout()
    return svg_text(figure)

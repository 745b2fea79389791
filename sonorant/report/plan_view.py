"""A cluster's plan as text: a table of stages, the control plane, the simulation, the limits."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from sonorant.capacity.cluster_plan import ClusterPlan
from sonorant.capacity.scenario import Moment
from sonorant.capacity.service_times import ServiceTimes
from sonorant.capacity.sizing import figure

__all__ = ["render_plan"]

_COLUMNS = ("ms", "pods", "cores", "GB", "in MB/s", "out MB/s", "busy", "simulated", "links")


def render_plan(plan: ClusterPlan, rehearsed: Moment, times: ServiceTimes) -> RenderableType:
    """Return the plan with its rehearsal, and the source of its measurements."""
    step = plan.trainer.step
    return Group(
        Text(
            f"{plan.trainer.ranks} GPUs, {plan.hours:g} hours of speech: {figure(plan.rate)} examples/s of "
            f"{figure(plan.demand)} that the trainer could take; an epoch in {_time(plan.epoch_hours)}",
            style="bold",
        ),
        _stages(plan, rehearsed),
        Text(_control(plan)),
        Text(
            f"simulated: {figure(rehearsed.rate)} examples/s, {rehearsed.rate / plan.demand:.1%} of the demand; "
            f"t_session {rehearsed.t_session:.3f}, as ranks measure it, whose steps include waits for each other"
        ),
        Text(
            f"measured: {times.utterances.source}, {times.utterances.seconds:.3g} s each; a step of {step.examples} "
            f"examples in {step.seconds:.3g} s ({step.source})"
        ),
        *(Text(f"limit: {limit}", style="yellow") for limit in plan.limits),
    )


def _stages(plan: ClusterPlan, rehearsed: Moment) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("stage")
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for stage in plan.stages:
        table.add_row(
            stage.stage,
            f"{1e3 * stage.service_s:.3g}",
            f"{stage.replicas}",
            f"{stage.cores:g}",
            f"{stage.memory_gb:.1f}",
            figure(stage.in_mb_s),
            figure(stage.out_mb_s),
            f"{stage.utilisation:.0%}",
            f"{rehearsed.utilisation[stage.stage]:.0%}",
            f"{stage.links}",
        )
    memory_gb = sum(stage.memory_gb for stage in plan.stages)
    pods = sum(stage.replicas for stage in plan.stages)
    table.add_row("all", "", f"{pods}", f"{plan.cores:g}", f"{memory_gb:.1f}", style="bold")
    trainer = plan.trainer
    fed = f"{1e3 / trainer.examples_per_s:.3g}"
    row = (
        "trainer",
        fed,
        f"{trainer.ranks}",
        "",
        "",
        f"{figure(trainer.in_mb_s)}",
        "",
        f"{plan.rate / plan.demand:.0%}",
    )
    table.add_row(*row, f"{rehearsed.rate / plan.demand:.0%}", f"{trainer.links}")
    return table


def _control(plan: ClusterPlan) -> str:
    control = plan.control
    return (
        f"Redis: {figure(control.claims_per_s)} claims/s, "
        f"{control.redis_cores:.0%} of its core, {control.redis_mb:.0f} MB; "
        f"coordinator: {figure(control.heartbeats_per_s)} heartbeats/s (one every {control.heartbeat_s:.2g} s), "
        f"{control.coordinator_cores:.0%} of its core, {control.coordinator_mb:.0f} MB"
    )


def _time(hours: float) -> str:
    return f"{hours:.3g} h" if hours >= 1 else f"{60 * hours:.3g} min"

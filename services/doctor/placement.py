"""Whether the chart's pods can be scheduled: each on one node, with its cores, memory, storage and devices."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubernetes.utils import parse_quantity

from services.doctor.findings import Finding, Values
from services.doctor.nodes import Node
from sonorant.capacity.sizing import figure
from sonorant.recipe import Recipe
from sonorant.recipe.layout import stage_order

__all__ = ["placement"]

_GB = 1e9
_BYTES = ("memory", "ephemeral-storage")


@dataclass(frozen=True, slots=True)
class _Pods:
    """Identical pods of one component: requests, node selector and tolerations of each."""

    component: str
    count: int
    asks: Mapping[str, float]
    selector: Mapping[str, str]
    tolerations: tuple[Mapping[str, Any], ...]


def placement(
    nodes: tuple[Node, ...] | None, values: Values, recipe: Recipe, *, pods_seen: bool = True
) -> Iterator[Finding]:
    """Yield findings. nodes: None if not permitted to list. pods_seen: whether running pods are known."""
    if not nodes:
        yield Finding("warning", "capacity", "you may not list nodes, so what fits is unknown")
        return
    pods = [one for one in _pods(values, recipe) if one.count]
    if gpus := _gpus(nodes, values, recipe):
        yield gpus
        if gpus.level == "failure":
            return
    unfit = [finding for one in pods if (finding := _fits_nowhere(one, nodes)) is not None]
    yield from unfit
    free = {node.name: node.free for node in nodes}
    waiting = {} if unfit else _unscheduled(pods, nodes, free)
    asked = sum(one.count * one.asks.get("cpu", 0.0) for one in pods)
    gb = sum(one.count * one.asks.get("memory", 0.0) for one in pods) / _GB
    has = {key: sum(max(0.0, node.free.get(key, 0.0)) for node in nodes) for key in ("cpu", "memory")}
    says = f"all pods ask for {asked:g} cores and {figure(gb)} GB"
    unseen = "" if pods_seen else "; you may not list pods, so what runs there is not counted"
    if waiting:
        who = ", ".join(f"{count} of {component}" for component, count in waiting.items())
        yield Finding(
            "warning", "capacity",
            f"{says}, the nodes have {has['cpu']:g} and {figure(has['memory'] / _GB)} free: some will wait ({who}); "
            f"lower resources.requests, replicas in the recipe, or add nodes{unseen}",
        )  # fmt: skip
    elif not unfit:
        free_gb = figure(has["memory"] / _GB)
        yield Finding("well", "capacity", f"{says} of {has['cpu']:g} cores and {free_gb} GB that are free{unseen}")


def _gpus(nodes: tuple[Node, ...], values: Values, recipe: Recipe) -> Finding | None:
    """Return whether nodes have GPUs for all ranks, those of one rank on one node; None: no rank asks for any."""
    ranks, each, resource = recipe.training.ranks, int(values["trainer"]["gpus"]), values["trainer"]["gpuResource"]
    if not each:
        return None
    offered = [int(node.allocatable.get(resource, 0)) for node in nodes]
    slots, asked = sum(count // each for count in offered), f"the trainer asks for {ranks * each} {resource}"
    if slots >= ranks:
        return Finding("well", "gpus", f"{ranks * each} of {sum(offered)} {resource}")
    why = "ask for fewer ranks, or add nodes" if any(offered) else "is its device plugin installed?"
    if sum(offered) >= ranks * each:
        why = f"those of a rank are on one node, and {slots} ranks find {each}; set trainer.gpus to fewer"
    return Finding("failure", "gpus", f"{asked}, the nodes offer {sum(offered)}: {why}")


def _fits_nowhere(pods: _Pods, nodes: tuple[Node, ...]) -> Finding | None:
    """Return why pods fit on no node, even an empty one."""
    open_to = [node for node in nodes if node.takes(pods.selector, pods.tolerations)]
    name = pods.component
    if not open_to:
        return Finding(
            "failure", "capacity",
            f"{name}: no node takes it; of {len(nodes)} all are cordoned, tainted or without the labels of its "
            f"nodeSelector: set {name}.tolerations or nodeSelector, or uncordon a node",
        )  # fmt: skip
    for key, amount in pods.asks.items():
        most = max(node.allocatable.get(key, 0.0) for node in open_to)
        if amount <= most:
            continue
        asks, has = (figure(v / _GB) + f" GB of {key}" if key in _BYTES else _cores(v, key) for v in (amount, most))
        return Finding("failure", "capacity", f"{name}: one asks for {asks}; the largest node has {has}")
    if all(any(amount > node.allocatable.get(key, 0.0) for key, amount in pods.asks.items()) for node in open_to):
        return Finding("failure", "capacity", f"{name}: no node has all that one asks for: {_listed(pods.asks)}")
    return None


def _unscheduled(pods: list[_Pods], nodes: tuple[Node, ...], free: dict[str, dict[str, float]]) -> dict[str, int]:
    """Assign pods, the largest first, each to the first node with free capacity; return those that fit none."""
    waiting: dict[str, int] = {}
    most = {key: max(node.allocatable.get(key, 0.0) for node in nodes) for one in pods for key in one.asks}
    for one in sorted(pods, key=lambda one: -max(v / most[k] for k, v in one.asks.items() if most[k])):
        homes = [free[node.name] for node in nodes if node.takes(one.selector, one.tolerations)]
        for _ in range(one.count):
            fits = (home for home in homes if all(home.get(key, 0.0) >= value for key, value in one.asks.items()))
            if (home := next(fits, None)) is None:
                waiting[one.component] = waiting.get(one.component, 0) + 1
                continue
            for key, value in one.asks.items():
                home[key] = home.get(key, 0.0) - value
    return waiting


def _pods(values: Values, recipe: Recipe) -> Iterator[_Pods]:
    """Yield the pods that run at once after the installation."""
    disk = values["pods"]["ephemeralStorage"]

    def of(name: str, count: int, *sections: Values, devices: Mapping[str, float] | None = None) -> _Pods:
        return _alike(name, count, sections, {"pods": 1.0, "ephemeral-storage": float(parse_quantity(disk))}, devices)

    own_redis = not (values["redis"]["url"] or values["redis"]["secret"])
    yield of("redis", int(own_redis), values["redis"])
    yield of("prepare", int(values["prepare"]["enabled"]), values["prepare"])
    yield of("coordinator", 1, values["coordinator"])
    each = values["stages"]["each"] or {}
    for stage in stage_order(recipe):
        yield of(stage, _first_replicas(values, recipe, stage), values["stages"], each.get(stage) or {})
    scaling, trainer = values["autoscaling"], values["trainer"]
    yield of("autoscaler", int(scaling["replicas"]) if scaling["mode"] == "planner" or scaling["rest"] else 0, scaling)
    devices = {trainer["gpuResource"]: float(trainer["gpus"])} if trainer["gpus"] else {}
    yield of("trainer", recipe.training.ranks, trainer, devices=devices)
    yield of("mpirun", int(trainer["launcher"] == "mpijob"), {"resources": trainer["mpiResources"]})
    yield of("recognizer", int(values["recognizer"]["replicas"]), values["recognizer"])


def _alike(
    name: str,
    count: int,
    sections: Sequence[Values],
    least: Mapping[str, float],
    devices: Mapping[str, float] | None,
) -> _Pods:
    """Return a component's pods; settings of later sections override those of earlier ones, as in the chart."""
    asks: dict[str, float] = {}
    for settings in sections:
        requests = (settings.get("resources") or {}).get("requests") or {}
        asks |= {key: float(parse_quantity(amount)) for key, amount in requests.items() if amount is not None}
    tolerations = [settings["tolerations"] for settings in sections if settings.get("tolerations")]
    return _Pods(
        name,
        count,
        {**least, **asks, **(devices or {})},
        selector={k: v for settings in sections for k, v in (settings.get("nodeSelector") or {}).items()},
        tolerations=tuple(tolerations[-1]) if tolerations else (),
    )


def _first_replicas(values: Values, recipe: Recipe, stage: str) -> int:
    scaling = values["autoscaling"]
    if scaling["mode"] == "none":
        return recipe.pipeline.replicas.get(stage, 1)
    return int(((scaling["each"] or {}).get(stage) or {}).get("minReplicas") or scaling["minReplicas"])


def _cores(amount: float, key: str) -> str:
    return f"{amount:g} cores" if key == "cpu" else f"{amount:g} {key}"


def _listed(asks: Mapping[str, float]) -> str:
    return ", ".join(figure(v / _GB) + f" GB of {k}" if k in _BYTES else _cores(v, k) for k, v in asks.items())

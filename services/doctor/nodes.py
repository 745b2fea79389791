"""Nodes: allocatable resources, less the requests of running pods; labels and taints."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kubernetes.utils import parse_quantity

__all__ = ["Node", "Taint", "nodes_of"]

_CORDONED = "node.kubernetes.io/unschedulable"
_KEEPS_OUT = ("NoSchedule", "NoExecute")
_ENDED = ("Succeeded", "Failed")

Amounts = Mapping[str, float]


class Taint(NamedTuple):
    """A node's taint, which a pod must tolerate."""

    key: str
    value: str
    effect: str

    def tolerated(self, tolerations: Iterable[Mapping[str, Any]]) -> bool:
        """Return whether one of a pod's tolerations matches, by Kubernetes' rules."""
        return any(map(self._matches, tolerations))

    def _matches(self, toleration: Mapping[str, Any]) -> bool:
        if toleration.get("effect") not in (None, "", self.effect):
            return False
        if toleration.get("operator") == "Exists":
            return toleration.get("key") in (None, "", self.key)
        return toleration.get("key") == self.key and str(toleration.get("value") or "") == self.value


@dataclass(frozen=True, slots=True)
class Node:
    """Amounts by resource, as Kubernetes names them (cores, bytes, devices), and the requests of a node's pods."""

    name: str
    allocatable: Amounts
    used: Amounts = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()

    @property
    def free(self) -> dict[str, float]:
        """Free amount of each resource."""
        return {key: amount - self.used.get(key, 0.0) for key, amount in self.allocatable.items()}

    def takes(self, selector: Mapping[str, str], tolerations: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether pods with this selector and these tolerations may be scheduled here."""
        return self.labels.items() >= selector.items() and all(taint.tolerated(tolerations) for taint in self.taints)


def nodes_of(
    nodes: Iterable[dict[str, Any]], pods: Iterable[dict[str, Any]], own: Mapping[str, str], namespace: str
) -> tuple[Node, ...]:
    """Return nodes with the requests of `pods`, except those of `namespace` with the labels `own`, if any."""
    used: dict[str, dict[str, float]] = {}
    for pod in pods:
        name, ended = pod["spec"].get("nodeName"), pod.get("status", {}).get("phase") in _ENDED
        labels = pod["metadata"].get("labels") or {}
        leaves = bool(own) and pod["metadata"].get("namespace") == namespace and labels.items() >= own.items()
        if name and not ended and not leaves:
            used[name] = _sum(used.get(name, {}), _requests(pod["spec"]))
    return tuple(_node(node, used.get(node["metadata"]["name"], {})) for node in nodes)


def _node(item: dict[str, Any], used: Amounts) -> Node:
    spec = item.get("spec", {})
    taints = {Taint(t["key"], t.get("value") or "", t["effect"]) for t in spec.get("taints") or ()}
    taints |= {Taint(_CORDONED, "", "NoSchedule")} if spec.get("unschedulable") else set()
    metadata = item["metadata"]
    return Node(
        name=metadata["name"],
        allocatable=_amounts(item["status"]["allocatable"]),
        used=used,
        labels=metadata.get("labels") or {},
        taints=tuple(sorted(taint for taint in taints if taint.effect in _KEEPS_OUT)),
    )


def _requests(spec: Mapping[str, Any]) -> dict[str, float]:
    """Return a pod's requests, as the scheduler counts them: containers or largest init container, and overhead."""
    beside: dict[str, float] = {}  # init containers that keep running
    most: dict[str, float] = {}
    for container in spec.get("initContainers") or ():
        asked = _sum(beside, _of_container(container))
        if container.get("restartPolicy") == "Always":
            beside = asked
        most = _largest(most, asked)
    running = _sum(beside, *map(_of_container, spec.get("containers") or ()))
    whole = {**_largest(most, running), **_of_container(spec)}  # the latter is set for the pod as a whole
    return _sum(whole, _amounts(spec.get("overhead") or {}), {"pods": 1.0})


def _of_container(container: Mapping[str, Any]) -> Amounts:
    return _amounts((container.get("resources") or {}).get("requests") or {})


def _amounts(quantities: Mapping[str, Any]) -> dict[str, float]:
    return {key: float(parse_quantity(value)) for key, value in quantities.items()}


def _sum(*amounts: Amounts) -> dict[str, float]:
    return {key: sum(one.get(key, 0.0) for one in amounts) for one in amounts for key in one}


def _largest(one: Amounts, other: Amounts) -> dict[str, float]:
    return {key: max(one.get(key, 0.0), other.get(key, 0.0)) for key in (*one, *other)}

"""Checks of a cluster against the chart's values; pure functions of both."""

from collections.abc import Iterator
from typing import Any

from services.doctor.cluster import Cluster
from services.doctor.consistency import contradictions
from services.doctor.findings import Finding, Values
from services.doctor.permissions import PRIORITIES, needed
from services.doctor.placement import placement
from sonorant.errors import BadRecipe
from sonorant.recipe.loading import check_recipe

__all__ = ["OLDEST_VERSION", "Finding", "examine"]

OLDEST_VERSION = (1, 27)  # Chart.yaml's kubeVersion
_MPI_JOB = ("MPIJob", "kubeflow.org")
_POD_MONITOR = ("PodMonitor", "monitoring.coreos.com")
_POD_METRICS = ("PodMetrics", "metrics.k8s.io")
_ROUTES = (("GRPCRoute", "gateway.networking.k8s.io"), ("BackendTLSPolicy", "gateway.networking.k8s.io"))
_POD_SECURITY = "pod-security.kubernetes.io/enforce"


def examine(cluster: Cluster, values: Values, namespace: str) -> list[Finding]:
    """Return the findings, one for each requirement of the chart's values, defaults included."""
    checks = (_version, _namespace, _permissions, _priorities, _storage, _data, _secrets)
    found = [finding for check in checks for finding in check(cluster, values)]
    try:
        recipe = check_recipe(_with_ranks(values["recipe"], values["trainer"]["ranks"]), "recipe")
    except BadRecipe as error:
        found += [Finding("failure", "recipe", fault.removeprefix("recipe: ")) for fault in str(error).splitlines()]
    else:
        found += [
            *contradictions(values, recipe),
            *placement(cluster.nodes, values, recipe, pods_seen=cluster.pods_seen),
        ]
    found += [*_launcher(cluster, values), *_autoscaling(cluster, values), *_monitoring(cluster, values)]
    found += _gateway(cluster, values)
    return [Finding(f.level, f.about, f.says.replace("NAMESPACE", namespace)) for f in found]


def _with_ranks(recipe: Any, ranks: int | None) -> Any:
    """Return the recipe as the chart renders it."""
    if ranks is None or not isinstance(recipe, dict):
        return recipe
    return recipe | {"training": (recipe.get("training") or {}) | {"ranks": ranks}}


def _version(cluster: Cluster, _values: Values) -> Iterator[Finding]:
    major, minor = (int("".join(filter(str.isdigit, part)) or 0) for part in cluster.version.split(".")[:2])
    oldest = ".".join(map(str, OLDEST_VERSION))
    if (major, minor) < OLDEST_VERSION:
        yield Finding("failure", "version", f"Kubernetes {cluster.version}: must be {oldest} or later")
    else:
        yield Finding("well", "version", f"Kubernetes {cluster.version}")


def _namespace(cluster: Cluster, values: Values) -> Iterator[Finding]:
    if cluster.labels is None:
        yield Finding("warning", "namespace", "NAMESPACE does not exist: helm install --create-namespace")
        return
    trainer, enforced = values["trainer"], cluster.labels.get(_POD_SECURITY)
    strictest = "baseline" if (trainer["launcher"], trainer["mpiVersion"]) == ("mpijob", "v1") else "restricted"
    label = f"kubectl label --overwrite namespace NAMESPACE {_POD_SECURITY}={strictest}"
    if enforced == strictest:
        yield Finding("well", "namespace", f"NAMESPACE enforces {strictest} pods")
    elif enforced == "restricted":
        refused = "the init container that the operator gives the launcher's pod of an MPIJob v1"
        yield Finding("failure", "namespace", f"NAMESPACE enforces restricted pods, which refuses {refused}: {label}")
    else:
        yield Finding(
            "warning", "namespace",
            f"NAMESPACE enforces pod security {enforced or 'privileged'}; the chart's pods pass {strictest}: {label}",
        )  # fmt: skip


def _permissions(cluster: Cluster, values: Values) -> Iterator[Finding]:
    asked = needed(values)
    lacking = [verb for verb in asked if verb in cluster.forbidden]
    for verb in lacking:
        instead = "; set priorities.create=false and name classes that exist" if verb is PRIORITIES else ""
        yield Finding("failure", "permissions", f"you may not {verb}: ask for a role that may{instead}")
    if not lacking:
        yield Finding("well", "permissions", f"you may create all {len(asked)} kinds of objects")


def _priorities(cluster: Cluster, values: Values) -> Iterator[Finding]:
    if values["priorities"]["create"]:
        return
    for kind in ("serving", "training"):
        name = values["priorities"][kind]
        if name and name not in cluster.priority_classes:
            has = ", ".join(sorted(cluster.priority_classes)) or "none"
            yield Finding("failure", "priorities", f"priorities.{kind}: no priority class {name!r}; there are: {has}")


def _storage(cluster: Cluster, values: Values) -> Iterator[Finding]:
    claims = [] if values["storage"]["store"]["url"] else ["runs"]
    claims += [] if values["redis"]["url"] or values["redis"]["secret"] else ["redis"]
    for claim in claims:
        asked, about = values["storage"][claim], f"storage.{claim}"
        if asked["claim"]:
            yield _claim(cluster, about, asked["claim"])
            continue
        name, classes = asked["storageClass"], sorted(cluster.storage_classes)
        if name is None and not any(cluster.storage_classes.values()):
            yield Finding(
                "failure", about,
                f"the cluster has no default storage class; set {about}.storageClass "
                + (f"to one of {', '.join(classes)}" if classes else "to '' and bind a volume by hand")
                + f", or {about}.claim to a claim that exists",
            )  # fmt: skip
        elif name and name not in cluster.storage_classes:
            yield Finding("failure", about, f"no storage class {name!r}; there are: {', '.join(classes) or 'none'}")
        else:
            yield Finding("well", about, f"a claim of {asked['size']} will be made")
        if len(cluster.nodes) > 1 and claim == "runs" and not {"ReadWriteMany"} & set(asked["accessModes"]):
            modes = ", ".join(asked["accessModes"])
            yield Finding("warning", about, f"{modes} holds all pods on one of {len(cluster.nodes)} nodes")


def _data(cluster: Cluster, values: Values) -> Iterator[Finding]:
    if claim := values["data"]["claim"]:
        yield _claim(cluster, "data", claim)
    elif values["prepare"]["enabled"]:
        yield Finding("failure", "data", "data.claim is empty: name the claim of the volume that holds the recordings")


def _claim(cluster: Cluster, about: str, name: str) -> Finding:
    if cluster.claims is None:
        return Finding("warning", about, f"you may not list claims, so whether {name!r} exists is unknown")
    if name in cluster.claims:
        return Finding("well", about, f"claim {name!r} is there")
    has = ", ".join(sorted(cluster.claims)) or "none"
    return Finding("failure", about, f"no claim {name!r} in NAMESPACE; there are: {has}")


def _secrets(cluster: Cluster, values: Values) -> Iterator[Finding]:
    named = {f"redis.{key}": values["redis"][key] for key in ("secret", "passwordSecret")}
    named["storage.store.secret"] = values["storage"]["store"]["secret"]
    if (ingress := values["recognizer"]["ingress"])["host"]:
        named["recognizer.ingress.tlsSecret"] = ingress["tlsSecret"]
    if values["recognizer"]["replicas"]:
        named |= {f"recognizer.apiKeys.{what}": name for what, name in values["recognizer"]["apiKeys"].items()}
    if values["keys"]["enabled"]:
        named |= {f"keys.secrets.{holder}": name for holder, name in values["keys"]["secrets"].items()}
    for number, secret in enumerate(values["image"]["pullSecrets"] or ()):
        named[f"image.pullSecrets[{number}]"] = secret.get("name", "")
    for about, name in named.items():
        if name and cluster.secrets is not None and name not in cluster.secrets:
            yield Finding("failure", about, f"no secret {name!r} in NAMESPACE: create it before the installation")
        elif name:
            known = "is there" if cluster.secrets else "may be there: you may not list secrets"
            yield Finding("well" if cluster.secrets else "warning", about, f"secret {name!r} {known}")


def _launcher(cluster: Cluster, values: Values) -> Iterator[Finding]:
    if values["trainer"]["launcher"] != "mpijob":
        return
    asked, served = values["trainer"]["mpiVersion"], cluster.kinds.get(_MPI_JOB, frozenset())
    if asked in served:
        yield Finding("well", "trainer.launcher", f"MPIJob {asked} is served")
        return
    operator = {"v1": "training-operator", "v2beta1": "mpi-operator"}[asked]
    has = f"it has {', '.join(sorted(served))}, to be named in trainer.mpiVersion" if served else "it has none"
    yield Finding(
        "failure", "trainer.launcher",
        f"mpijob: the cluster has no MPIJob {asked}; {has}; install kubeflow's {operator}, or set "
        "trainer.launcher=statefulset",
    )  # fmt: skip


def _autoscaling(cluster: Cluster, values: Values) -> Iterator[Finding]:
    if values["autoscaling"]["mode"] != "hpa":
        return
    if _POD_METRICS in cluster.kinds:
        yield Finding("well", "autoscaling", "metrics-server is there")
    else:
        yield Finding(
            "failure", "autoscaling", "mode hpa needs metrics-server: install it, or set autoscaling.mode=planner"
        )


def _monitoring(cluster: Cluster, values: Values) -> Iterator[Finding]:
    if values["metrics"]["podMonitors"] and _POD_MONITOR not in cluster.kinds:
        yield Finding(
            "failure", "metrics", "podMonitors: the cluster has no PodMonitor; install the Prometheus operator"
        )


def _gateway(cluster: Cluster, values: Values) -> Iterator[Finding]:
    gateway = values["recognizer"]["gateway"]
    if not (values["recognizer"]["replicas"] and gateway["parents"]):
        return
    for kind, group in _ROUTES[: 2 if values["keys"]["enabled"] and gateway["authority"] else 1]:
        if "v1" not in (served := cluster.kinds.get((kind, group), frozenset())):
            has = f"only {', '.join(sorted(served))}" if served else "none"
            newer = "install the Gateway API, 1.1 or later"
            if kind == "BackendTLSPolicy":
                newer = "install the Gateway API, 1.4 or later, or make one yourself and leave authority empty"
            yield Finding("failure", "recognizer.gateway", f"the cluster has no {kind} v1, {has}; {newer}")

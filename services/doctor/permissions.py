"""Permissions that installing the chart with given values takes."""

from collections.abc import Iterator

from services.doctor.cluster import Verb
from services.doctor.findings import Values

__all__ = ["PRIORITIES", "VERBS", "needed"]

PRIORITIES = Verb("priorityclasses", "scheduling.k8s.io", namespaced=False)
_ALWAYS = (
    Verb("deployments", "apps"),
    Verb("statefulsets", "apps"),
    Verb("services"),
    Verb("configmaps"),
    Verb("secrets"),  # in one Helm keeps the release
    Verb("poddisruptionbudgets", "policy"),
)
_JOBS = Verb("jobs", "batch")
_CLAIMS = Verb("persistentvolumeclaims")
_POLICIES = Verb("networkpolicies", "networking.k8s.io")
_ACCOUNTS = Verb("serviceaccounts")
_AUTOSCALER = (
    Verb("roles", "rbac.authorization.k8s.io"),
    Verb("rolebindings", "rbac.authorization.k8s.io"),
    Verb("leases", "coordination.k8s.io"),
)
_HPAS = Verb("horizontalpodautoscalers", "autoscaling")
_POD_MONITORS = Verb("podmonitors", "monitoring.coreos.com")
_MPI_JOBS = Verb("mpijobs", "kubeflow.org")
_INGRESSES = Verb("ingresses", "networking.k8s.io")
_ROUTES = Verb("grpcroutes", "gateway.networking.k8s.io")
_BACKENDS = Verb("backendtlspolicies", "gateway.networking.k8s.io")
VERBS = (
    *_ALWAYS, _JOBS, _CLAIMS, _POLICIES, _ACCOUNTS, *_AUTOSCALER, _HPAS, _POD_MONITORS, _MPI_JOBS, _INGRESSES,
    _ROUTES, _BACKENDS, PRIORITIES,
)  # fmt: skip


def needed(values: Values) -> list[Verb]:
    """Return the chart's objects for these values, a verb for each kind."""
    return [*_ALWAYS, *_of_the_run(values), *_of_the_site(values)]


def _of_the_run(values: Values) -> Iterator[Verb]:
    """Yield the kinds of a run and its scaling."""
    storage, redis, scaling = values["storage"], values["redis"], values["autoscaling"]
    own_redis = not (redis["url"] or redis["secret"])
    autoscaler = scaling["mode"] == "planner" or scaling["rest"]
    if values["prepare"]["enabled"]:
        yield _JOBS
    if not (storage["store"]["url"] or storage["runs"]["claim"]) or (own_redis and not storage["redis"]["claim"]):
        yield _CLAIMS
    if autoscaler or not values["serviceAccount"]["name"]:
        yield _ACCOUNTS
    if autoscaler:
        yield from _AUTOSCALER
    if scaling["mode"] == "hpa":
        yield _HPAS
    if values["trainer"]["launcher"] == "mpijob":
        yield _MPI_JOBS


def _of_the_site(values: Values) -> Iterator[Verb]:
    """Yield the kinds that connect it to other parts of the cluster."""
    recognizer = values["recognizer"]
    if values["networkPolicies"]["enabled"]:
        yield _POLICIES
    if values["metrics"]["podMonitors"]:
        yield _POD_MONITORS
    if values["priorities"]["create"]:
        yield PRIORITIES
    if recognizer["replicas"] and recognizer["ingress"]["host"]:
        yield _INGRESSES
    if recognizer["replicas"] and recognizer["gateway"]["parents"]:
        yield _ROUTES
        if values["keys"]["enabled"] and recognizer["gateway"]["authority"]:
            yield _BACKENDS

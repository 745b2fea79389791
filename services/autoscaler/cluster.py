"""The autoscaler's calls to the Kubernetes API: scales of workloads, events about them, its lease."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, NamedTuple

import structlog
import urllib3
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException

from services.autoscaler.election import LeaseRecord
from sonorant.errors import Unavailable

__all__ = ["Cluster", "Scale", "Workload"]

log = structlog.get_logger()

_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_TIMEOUT_S = 3.0
_PATCH = "application/merge-patch+json"
_COMPONENT = "sonorant-autoscaler"
_RESTING = "sonorant/resting"  # annotation of the lease


class Workload(NamedTuple):
    """A Deployment or StatefulSet, which have replicas."""

    name: str
    kind: str = "Deployment"


class Scale:
    """A workload's desired replicas and UID."""

    def __init__(self, found: Any) -> None:
        self.replicas = int(found.spec.replicas or 0)
        self.uid = str(found.metadata.uid)


class Cluster:
    """One namespace of the cluster that KUBECONFIG names, or that this pod is in; raises Unavailable."""

    def __init__(self, namespace: str = "", instance: str = "") -> None:
        try:
            config.load_config()
        except (ConfigException, OSError) as error:
            raise Unavailable(f"no Kubernetes API: {error}; run in a pod with a token, or set KUBECONFIG") from error
        settings = client.Configuration.get_default_copy()
        settings.retries = False  # the next iteration retries
        api = client.ApiClient(settings)
        self.namespace = namespace or _namespace()
        self._instance = instance
        self._apps, self._core = client.AppsV1Api(api), client.CoreV1Api(api)
        self._leases = client.CoordinationV1Api(api)

    def scale(self, workload: Workload) -> Scale:
        """Return a workload's scale."""
        read = {
            "Deployment": self._apps.read_namespaced_deployment_scale,
            "StatefulSet": self._apps.read_namespaced_stateful_set_scale,
        }[workload.kind]
        with self._errors_mapped(f"{workload.kind} {workload.name}"):
            return Scale(read(workload.name, self.namespace, _request_timeout=_TIMEOUT_S))

    def set_replicas(self, workload: Workload, replicas: int) -> None:
        """Set a workload's desired replicas."""
        patch = {
            "Deployment": self._apps.patch_namespaced_deployment_scale,
            "StatefulSet": self._apps.patch_namespaced_stateful_set_scale,
        }[workload.kind]
        body = {"spec": {"replicas": replicas}}
        with self._errors_mapped(f"{workload.kind} {workload.name}"):
            patch(workload.name, self.namespace, body, _content_type=_PATCH, _request_timeout=_TIMEOUT_S)

    def write_event(self, workload: Workload, uid: str, reason: str, message: str, *, warning: bool = False) -> None:
        """Write an event about a workload; a failure is logged."""
        now = datetime.now(UTC)
        event = client.CoreV1Event(
            metadata=client.V1ObjectMeta(generate_name=f"{workload.name}."),
            involved_object=client.V1ObjectReference(
                api_version="apps/v1", kind=workload.kind, name=workload.name, namespace=self.namespace, uid=uid
            ),
            reason=reason,
            message=message[:1024],  # the API's limit
            type="Warning" if warning else "Normal",
            first_timestamp=now,
            last_timestamp=now,
            count=1,
            source=client.V1EventSource(component=_COMPONENT),
            reporting_component=_COMPONENT,
            reporting_instance=self._instance,
        )
        try:
            with self._errors_mapped("events"):
                self._core.create_namespaced_event(self.namespace, event, _request_timeout=_TIMEOUT_S)
        except Unavailable as error:
            log.warning("event_not_written", workload=workload.name, message=message, error=str(error))

    def lease(self, name: str) -> tuple[LeaseRecord, int] | None:
        """Return a lease and how often it changed hands; None if there is none."""
        try:
            with self._errors_mapped(f"lease {name}"):
                found: Any = self._leases.read_namespaced_lease(name, self.namespace, _request_timeout=_TIMEOUT_S)
        except _NotThere:
            return None
        spec = found.spec
        record = LeaseRecord(
            spec.holder_identity or "", float(spec.lease_duration_seconds or 0), found.metadata.resource_version
        )
        return record, spec.lease_transitions or 0

    def take_lease(self, name: str, holder: str, lasts_s: int, found: tuple[LeaseRecord, int] | None) -> bool:
        """Write `holder` into the lease that was found; False if it has changed since. found: None to create it."""
        try:
            with self._errors_mapped(f"lease {name}"):
                if found is None:
                    self._leases.create_namespaced_lease(
                        self.namespace,
                        client.V1Lease(
                            metadata=client.V1ObjectMeta(name=name),
                            spec=client.V1LeaseSpec(holder_identity=holder, lease_duration_seconds=lasts_s),
                        ),
                        _request_timeout=_TIMEOUT_S,
                    )
                else:
                    self._patch_lease(name, holder, lasts_s, *found)
        except _Conflict:
            return False
        return True

    def is_resting(self, lease: str) -> bool:
        """Return whether the lease's annotation marks the workloads as resting; False without a lease."""
        try:
            with self._errors_mapped(f"lease {lease}"):
                found: Any = self._leases.read_namespaced_lease(lease, self.namespace, _request_timeout=_TIMEOUT_S)
        except _NotThere:
            return False
        return (found.metadata.annotations or {}).get(_RESTING) == "true"

    def note_resting(self, lease: str, resting: bool) -> None:
        """Set or remove the lease's annotation."""
        body = {"metadata": {"annotations": {_RESTING: "true" if resting else None}}}
        with self._errors_mapped(f"lease {lease}"):
            self._leases.patch_namespaced_lease(
                lease, self.namespace, body, _content_type=_PATCH, _request_timeout=_TIMEOUT_S
            )

    def _patch_lease(self, name: str, holder: str, lasts_s: int, found: LeaseRecord, transitions: int) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # for people: never compared
        spec: dict[str, Any] = {"holderIdentity": holder, "leaseDurationSeconds": lasts_s, "renewTime": now}
        if holder and holder != found.holder:
            spec |= {"acquireTime": now, "leaseTransitions": transitions + 1}
        body = {"metadata": {"resourceVersion": found.version}, "spec": spec}
        self._leases.patch_namespaced_lease(
            name, self.namespace, body, _content_type=_PATCH, _request_timeout=_TIMEOUT_S
        )

    @contextmanager
    def _errors_mapped(self, what: str) -> Iterator[None]:
        """Map the client's errors to ours."""
        try:
            yield
        except ApiException as error:
            kinds = {HTTPStatus.NOT_FOUND: _NotThere, HTTPStatus.CONFLICT: _Conflict}
            kind = kinds.get(error.status, Unavailable)
            raise kind(
                f"{what} in namespace {self.namespace}: {error.status} {error.reason}; {_hint(error)}"
            ) from error
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"{what}: the API server cannot be reached ({error})") from error


class _NotThere(Unavailable):
    """404."""


class _Conflict(Unavailable):
    """409."""


def _hint(error: ApiException) -> str:
    if error.status in (HTTPStatus.FORBIDDEN, HTTPStatus.UNAUTHORIZED):
        return "look at the Role and the token of its service account"
    if (error.status or 0) >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "the API server failed; retried in the next iteration"
    return "look at what is deployed"


def _namespace() -> str:
    if _OWN_NAMESPACE.exists():
        return _OWN_NAMESPACE.read_text().strip()
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "default"
    _, context = config.list_kube_config_contexts()
    return str(context["context"].get("namespace", "default"))

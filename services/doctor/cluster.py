"""A cluster's state, read from its API server; nothing is created or changed."""

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import urllib3
from kubernetes import config
from kubernetes.client import ApiClient, ApiException

from services.doctor.nodes import Node, nodes_of
from sonorant.errors import Unavailable

__all__ = ["Cluster", "Verb", "connect", "look_at"]

_TIMEOUT_S = 10
_PAGE = 500  # objects a page
_ATTEMPTS = 3  # for a response that breaks off


@dataclass(frozen=True, order=True, slots=True)
class Verb:
    """A permission: `verb` on `resource` of API `group`; namespaced or not."""

    resource: str
    group: str = ""
    verb: str = "create"
    namespaced: bool = True

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{'.' * bool(self.group)}{self.group}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as seen by one user, in one namespace.

    version: of the API server, such as 1.34.4. kinds: versions by kind and API group. storage_classes: by name, whether
    it is the default. claims, secrets: names in the namespace; None: not permitted to list. forbidden: requested verbs
    that the user may not use. labels: of the namespace, None if it does not exist.
    pods_seen: whether the user may list the nodes' pods.
    """

    version: str
    nodes: tuple[Node, ...]
    kinds: Mapping[tuple[str, str], frozenset[str]]
    storage_classes: Mapping[str, bool]
    priority_classes: frozenset[str]
    claims: frozenset[str] | None
    secrets: frozenset[str] | None
    forbidden: frozenset[Verb]
    labels: Mapping[str, str] | None
    pods_seen: bool = True


def connect(context: str | None = None) -> ApiClient:
    """Return a client of the cluster that KUBECONFIG or ~/.kube/config names.

    Raises Unavailable without one.
    """
    try:
        client: ApiClient = config.new_client_from_config(os.environ.get("KUBECONFIG"), context)
    except config.ConfigException as error:
        reason = str(error).rstrip(".")
        raise Unavailable(f"no cluster to check: {reason}; set KUBECONFIG, or --context") from error
    return client


def look_at(client: ApiClient, namespace: str, verbs: Iterable[Verb], release: str = "") -> Cluster:
    """Return the cluster's state, without the pods of `release`, which an upgrade replaces.

    Raises Unavailable if its API server does not answer or refuses the request.
    """
    reader = _Reader(client)
    own = {"app.kubernetes.io/instance": release} if release else {}
    try:
        pods = reader.listed("/api/v1/pods")
        return Cluster(
            version=str(reader.get("/version")["gitVersion"]).removeprefix("v").split("+")[0],
            nodes=nodes_of(reader.items("/api/v1/nodes"), pods or (), own, namespace),
            kinds=_kinds(reader),
            storage_classes={
                _name(item): item["metadata"].get("annotations", {}).get("storageclass.kubernetes.io/is-default-class")
                == "true"
                for item in reader.items("/apis/storage.k8s.io/v1/storageclasses")
            },
            priority_classes=frozenset(map(_name, reader.items("/apis/scheduling.k8s.io/v1/priorityclasses"))),
            claims=reader.names(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"),
            secrets=reader.names(f"/api/v1/namespaces/{namespace}/secrets"),
            forbidden=frozenset(verb for verb in verbs if not reader.allowed(verb, namespace)),
            labels=_labels(reader, namespace),
            pods_seen=pods is not None,
        )
    except urllib3.exceptions.HTTPError as error:
        raise Unavailable(f"{client.configuration.host}: the API server does not answer: {error}") from error
    except ApiException as error:
        raise Unavailable(f"{client.configuration.host}: {error.status} {error.reason}: {error.body}") from error


class _Reader:
    """Reads paths of the API as JSON."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def get(self, path: str, method: str = "GET", body: object = None, **query: str) -> Any:
        """Return the response; retries if it breaks off, as nothing is created or changed."""
        for _ in range(_ATTEMPTS - 1):
            with contextlib.suppress(urllib3.exceptions.ProtocolError):
                return self._ask(path, method, body, query)
        return self._ask(path, method, body, query)

    def _ask(self, path: str, method: str, body: object, query: Mapping[str, str]) -> Any:
        request = self._client.param_serialize(
            method, path, query_params=list(query.items()), body=body, auth_settings=["BearerToken"],
            header_params={"Accept": "application/json", "Content-Type": "application/json"},
        )  # fmt: skip
        answer = self._client.call_api(*request, _request_timeout=_TIMEOUT_S)
        data = answer.read()
        if not 200 <= answer.status < 300:
            raise ApiException(status=answer.status, reason=answer.reason, body=data.decode(errors="replace"))
        return json.loads(data)

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return all objects of a list; none if it is not served or not permitted."""
        return self.listed(path) or []

    def names(self, path: str) -> frozenset[str] | None:
        """Return the names of all objects of a list; None if not permitted."""
        found = self.listed(path)
        return None if found is None else frozenset(map(_name, found))

    def allowed(self, verb: Verb, namespace: str) -> bool:
        attributes = {"verb": verb.verb, "group": verb.group, "resource": verb.resource}
        if verb.namespaced:
            attributes["namespace"] = namespace
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        return bool(self.get(path, "POST", review)["status"]["allowed"])

    def listed(self, path: str) -> list[dict[str, Any]] | None:
        """Return all objects of a list, page by page; None if it is not served or not permitted."""
        found: list[dict[str, Any]] = []
        query = {"limit": str(_PAGE)}
        while True:
            try:
                page = self.get(path, **query)
            except ApiException as error:
                if error.status in (403, 404):
                    return None
                raise
            found += page["items"]
            if not (more := page["metadata"].get("continue")):
                return found
            query["continue"] = more


def _kinds(reader: _Reader) -> dict[tuple[str, str], frozenset[str]]:
    """Return the versions of every kind, by kind and group, of the API's named groups."""
    versions: dict[tuple[str, str], set[str]] = {}
    for group in reader.get("/apis")["groups"]:
        for version in group["versions"]:
            for resource in _or_nothing(reader, f"/apis/{version['groupVersion']}").get("resources", ()):
                versions.setdefault((resource["kind"], group["name"]), set()).add(version["version"])
    return {kind: frozenset(found) for kind, found in versions.items()}


def _or_nothing(reader: _Reader, path: str) -> dict[str, Any]:
    """Read what may be missing: an API group whose server is down, such as metrics', or a namespace."""
    try:
        found: dict[str, Any] = reader.get(path)
    except ApiException as error:
        if error.status in (403, 404, 503):
            return {}
        raise
    return found


def _labels(reader: _Reader, namespace: str) -> dict[str, str] | None:
    found = _or_nothing(reader, f"/api/v1/namespaces/{namespace}")
    return found["metadata"].get("labels", {}) if found else None


def _name(item: Mapping[str, Any]) -> str:
    return str(item["metadata"]["name"])

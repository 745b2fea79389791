"""Print the chart's values.schema.json: its values, with the recipe's own schema inside. `make verify` compares."""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat
from pydantic.alias_generators import to_camel

from sonorant.recipe import Recipe

_NUMBER = r"[0-9]+(\.[0-9]+)?"
_QUANTITY = rf"^{_NUMBER}([KMGTPE]i|[numkMGTPE]|[eE][0-9]+)?$"  # Kubernetes', without a sign
_CORES = rf"^{_NUMBER}m?$"  # as templates and programs parse it
# What templates write into manifests: nothing else could mean anything there, or would mean something else.
_OBJECT = r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?"
_Object = Annotated[str, Field(pattern=rf"^({_OBJECT})?$")]  # name of an object, or empty
_ImageName = Annotated[str, Field(pattern=r"^[a-z0-9][a-zA-Z0-9._:/@-]*$")]
_Amounts = Annotated[
    dict[str, NonNegativeFloat | Annotated[str, Field(pattern=_QUANTITY)]],
    Field(json_schema_extra={"properties": {"cpu": {"type": ["number", "string"], "minimum": 0, "pattern": _CORES}}}),
]


# `helm --set` takes only whole numbers for numbers.
_Above0 = (
    Annotated[float, Field(gt=0)]
    | Annotated[str, Field(pattern=r"^[0-9]*([1-9][0-9]*(\.[0-9]+)?|\.[0-9]*[1-9][0-9]*)$")]
)
_From0 = NonNegativeFloat | Annotated[str, Field(pattern=rf"^{_NUMBER}$")]
_Share = Annotated[float, Field(ge=0.1, le=1)] | Annotated[str, Field(pattern=r"^(0?\.[1-9][0-9]*|1(\.0+)?)$")]
_Objects = list[dict[str, Any]]


class _Values(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=to_camel)


class _Resources(_Values):
    requests: _Amounts | None = Field(None, description="Requests by resource.")
    limits: _Amounts | None = Field(None, description="Limits by resource.")


class _Scheduling(_Values):
    resources: _Resources | None = Field(None, description="Kubernetes' resources of a container.")
    node_selector: dict[str, str] | None = Field(None, description="Labels that a node must have.")
    tolerations: list[dict[str, Any]] | None = Field(None, description="Taints that are tolerated.")
    affinity: dict[str, Any] | None = Field(None, description="Kubernetes' affinity of a pod.")
    annotations: dict[str, str] | None = Field(None, description="Annotations of the pods.")
    extra_env: _Objects | None = Field(
        None, description="Environment variables of the containers, beside pods.extraEnv."
    )
    extra_volumes: _Objects | None = Field(None, description="Volumes of the pods, beside pods.extraVolumes.")
    extra_volume_mounts: _Objects | None = Field(None, description="Where containers mount them.")


class _Data(_Values):
    claim: _Object = Field("", description="Claim of the volume that holds the corpora.")


class _Image(_Values):
    prefix: _ImageName = Field(description="Registry and first part of the images' names.")
    tag: str = Field(
        "", pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$", description="Tag; empty: the chart's appVersion."
    )
    names: dict[Literal["stage", "autoscaler", "trainer", "trainer-ssh", "recognizer", "redis"], _ImageName] | None = (
        Field(None, description="Whole names that win over prefix and tag.")
    )
    pull_policy: Literal["IfNotPresent", "Always", "Never"] = Field("IfNotPresent", description="When a node pulls.")
    pull_secrets: list[dict[str, str]] | None = Field(None, description="Pull secrets.")


class _Pods(_Values):
    labels: dict[str, str] | None = Field(
        None,
        description="Labels of all pods, beside those by which selectors find them.",
        json_schema_extra={"propertyNames": {"not": {"pattern": r"^app\.kubernetes\.io/(name|instance|component)$"}}},
    )
    annotations: dict[str, str] | None = Field(None, description="Annotations of all pods.")
    extra_env: _Objects | None = Field(None, description="Environment variables of all containers.")
    extra_volumes: _Objects | None = Field(None, description="Volumes of all pods.")
    extra_volume_mounts: _Objects | None = Field(None, description="Where containers mount them.")
    tmp_size_limit: str = Field(pattern=_QUANTITY, description="Limit of /tmp in each pod.")
    ephemeral_storage: str = Field(pattern=_QUANTITY, description="Disk requested by each container.")


class _ServiceAccount(_Values):
    name: _Object = Field("", description="An account that exists; empty: the chart makes one.")
    annotations: dict[str, str] | None = Field(None, description="Annotations of the one that the chart makes.")


class _Claim(_Values):
    claim: _Object = Field("", description="A claim that exists; empty: the chart makes one.")
    size: str = Field(pattern=_QUANTITY, description="Size of the volume.")
    storage_class: _Object | None = Field(None, description="Storage class; null: the cluster's default, empty: none.")
    access_modes: list[Literal["ReadWriteOnce", "ReadWriteMany", "ReadWriteOncePod"]] = Field(
        min_length=1, description="How many nodes may mount it."
    )
    keep: bool = Field(True, description="Whether uninstalling leaves the claim.")


class _Store(_Values):
    url: str = Field(
        "", pattern=r"^(s3://[a-z0-9.-]+(/[A-Za-z0-9_.=/-]*)?)?$", description="Bucket and prefix; empty: a volume."
    )
    secret: _Object = Field("", description="Secret with credentials as variables; empty: the service account's.")
    endpoint: str = Field(
        "", pattern=r"^(https?://[A-Za-z0-9.:\[\]-]+/?)?$", description="URL of the S3 server; empty: Amazon's."
    )
    region: str = Field("", pattern=r"^[a-z0-9-]*$", description="The bucket's region; empty: not needed.")
    size_limit: str = Field(pattern=_QUANTITY, description="Limit of the folder of one pod.")


class _Storage(_Values):
    store: _Store = Field(description="Object storage for shards, checkpoints and exports.")
    runs: _Claim = Field(description="Shards, checkpoints and exports.")
    redis: _Claim = Field(description="Redis' append-only file.")


class _Prepare(_Scheduling):
    enabled: bool = Field(True, description="Whether shards are made.")
    strict: bool = Field(False, description="Whether a recording that cannot be used is an error.")


class _Redis(_Scheduling):
    password_secret: _Object = Field("", description="Secret whose key `password` is that of the chart's own Redis.")
    url: str = Field("", pattern=r"^(rediss?://.+)?$", description="URL of a Redis outside.")
    secret: _Object = Field("", description="Secret whose key `url` is such a URL.")
    port: int = Field(6379, ge=1, le=65535, description="Port of the Redis whose URL is in `secret`.")


class _Stages(_Scheduling):
    each: dict[str, _Scheduling] | None = Field(None, description="Settings of one stage, by its name in the recipe.")


class _Bounds(_Values):
    min_replicas: int | None = Field(None, ge=1, description="Fewest replicas; null: as for the others.")
    max_replicas: int | None = Field(None, ge=1, description="Most replicas; null: as for the others.")


class _Autoscaling(_Scheduling):
    mode: Literal["planner", "hpa", "none"] = Field("planner", description="Mode of scaling.")
    rest: bool = Field(True, description="Whether stages and trainer are scaled to 0 when training is complete.")
    min_replicas: int = Field(1, ge=1, description="Fewest replicas of a stage.")
    max_replicas: int = Field(20, ge=1, description="Most replicas of a stage.")
    each: dict[str, _Bounds] | None = Field(None, description="The same of one stage, by its name in the recipe.")
    cores: _Above0 | None = Field(None, description="Cores of all stages together; null: no limit.")
    utilisation: _Share = Field(0.8, description="Target busy share of a stage.")
    stabilization_window_seconds: int = Field(
        120, ge=0, le=3600, description="Time for which fewer replicas must have sufficed before a scale-down."
    )
    replicas: int = Field(1, ge=1, description="Replicas of the planner.")
    api_ports: list[int] = Field(description="Ports of the Kubernetes API.")


class _Trainer(_Scheduling):
    launcher: Literal["statefulset", "mpijob"] = Field("statefulset", description="How ranks are started.")
    mpi_version: Literal["v1", "v2beta1"] = Field("v1", description="Version of MPIJob that the cluster serves.")
    mpi_resources: _Resources | None = Field(None, description="Kubernetes' resources of mpirun's container.")
    ranks: int | None = Field(None, ge=1, le=4096, description="Ranks, instead of the recipe's; null: those.")
    gpus: int = Field(0, ge=0, description="GPUs of one rank.")
    gpu_resource: str = Field("nvidia.com/gpu", description="Resource name of a GPU.")


class _Test(_Values):
    max_wer: _From0 | None = Field(
        None, description="Highest word error rate that passes; null: any, if a word is recognized."
    )
    resources: _Resources | None = Field(None, description="Kubernetes' resources of a container.")


class _Gateway(_Values):
    parents: _Objects | None = Field(None, description="Gateways that take the route; empty: no route.")
    hostnames: list[str] | None = Field(None, description="Host names of the recognizer.")
    authority: _Object = Field("", description="ConfigMap with the authority of the recognizer's certificate.")


class _Ingress(_Values):
    host: str = Field("", pattern=r"^[a-z0-9.*-]*$", description="Host name; empty: no Ingress.")
    class_name: _Object = Field("", description="Class of the Ingress; empty: the cluster's default.")
    tls_secret: _Object = Field("", description="Secret with the certificate that clients see.")
    annotations: dict[str, str] | None = Field(None, description="Annotations of the Ingress.")


class _ByLoad(_Values):
    enabled: bool = Field(False, description="Whether a HorizontalPodAutoscaler sets the replicas.")
    min_replicas: int = Field(1, ge=1, description="Fewest replicas.")
    max_replicas: int = Field(10, ge=1, description="Most replicas.")
    load: _Share = Field(0.7, description="Target of the pods' mean load.")
    stabilization_window_seconds: int = Field(
        300, ge=0, le=3600, description="Time for which fewer replicas must have sufficed before a scale-down."
    )


class _ApiKeys(_Values):
    secret: _Object = Field("", description="Secret with the hashes of API keys; empty: none is asked for.")
    client: _Object = Field("", description="Secret with the API key of `helm test`.")


class _Recognizer(_Scheduling):
    replicas: int = Field(1, ge=0, description="Replicas; 0: none.")
    autoscaling: _ByLoad = Field(description="Replicas by load.")
    drain_seconds: int = Field(30, ge=1, description="Time for open streams to end, in seconds.")
    api_keys: _ApiKeys = Field(description="API keys of clients.")
    clients: list[dict[str, Any]] | None = Field(None, description="Peers that may stream to it.")
    gateway: _Gateway = Field(description="A Gateway's route.")
    ingress: _Ingress = Field(description="An Ingress.")
    test: _Test = Field(description="`helm test`.")


class _Secrets(_Values):
    links: _Object = Field("", description="Secret with the key of links.")
    coordinator: _Object = Field("", description="Secret with the coordinator's certificate.")
    recognizer: _Object = Field("", description="Secret with the recognizer's certificate.")
    client: _Object = Field("", description="Secret with the certificate of their clients.")


class _Keys(_Values):
    enabled: bool = Field(True, description="Whether links and gRPC are encrypted.")
    mutual: list[Literal["coordinator", "recognizer"]] = Field(
        description="Servers that take only clients with a certificate."
    )
    secrets: _Secrets = Field(description="Secrets that exist; empty: the chart makes them.")


class _Metrics(_Values):
    pod_monitors: bool = Field(False, description="Whether the chart makes PodMonitors.")
    labels: dict[str, str] | None = Field(None, description="Labels of the PodMonitors.")
    scrapers: list[dict[str, Any]] | None = Field(None, description="Peers that may scrape.")
    dashboard: bool = Field(False, description="Whether the chart makes a ConfigMap with Grafana's dashboard.")


class _Priorities(_Values):
    create: bool = Field(True, description="Whether the chart makes priority classes.")
    serving: _Object = Field("", description="Class of the recognizer, if not.")
    training: _Object = Field("", description="Class of all others, if not.")


class _Peers(_Values):
    dns: _Objects | None = Field(None, description="The cluster's DNS.")
    api: _Objects | None = Field(None, description="The Kubernetes API.")
    store: _Objects | None = Field(None, description="Object storage.")
    redis: _Objects | None = Field(None, description="A Redis outside.")


class _NetworkPolicies(_Values):
    enabled: bool = Field(True, description="Whether the chart makes network policies.")
    peers: _Peers = Field(description="Targets of egress; empty: any address.")
    dns_ports: list[int] = Field(min_length=1, description="Ports of the DNS server's pods.")
    egress: _Objects | None = Field(None, description="Further egress rules of all components.")


class _Chart(_Values):
    recipe: Recipe | None = Field(None, description="The recipe.")
    data: _Data = Field(description="Recordings.")
    image: _Image = Field(description="Images.")
    pods: _Pods = Field(description="All pods.")
    service_account: _ServiceAccount = Field(description="The account of the pods.")
    storage: _Storage = Field(description="Volumes.")
    prepare: _Prepare = Field(description="The job that makes shards.")
    redis: _Redis = Field(description="The ledger.")
    coordinator: _Scheduling = Field(description="The coordinator.")
    stages: _Stages = Field(description="The recipe's stages.")
    autoscaling: _Autoscaling = Field(description="Replicas of the stages.")
    trainer: _Trainer = Field(description="The trainer.")
    recognizer: _Recognizer = Field(description="The recognizer.")
    keys: _Keys = Field(description="Keys of links, certificates of gRPC.")
    metrics: _Metrics = Field(description="Prometheus and Grafana.")
    priorities: _Priorities = Field(description="Priority classes.")
    network_policies: _NetworkPolicies = Field(description="Network policies.")
    service: dict[str, Any] | None = Field(None, description="The library chart's, which has none; Helm adds the key.")
    global_: dict[str, Any] | None = Field(None, alias="global", description="Helm's own.")


def _schema() -> dict[str, Any]:
    """Return the schema, which requires all that may not be null: in Helm, null takes a default away."""
    schema = _Chart.model_json_schema()
    own = [section for name, section in schema["$defs"].items() if name.startswith("_")]  # others are the recipe's
    for section in (schema, *own):
        kept = [key for key, node in section["properties"].items() if {"type": "null"} not in node.get("anyOf", ())]
        section.pop("required", None)
        section |= {"required": kept} if kept else {}
    return schema | {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Values"}


if __name__ == "__main__":
    print(json.dumps(_schema(), indent=2, ensure_ascii=False))

"""Contradictions between values, which the chart or the API server refuses."""

from collections.abc import Iterator

from kubernetes.utils import parse_quantity

from services.doctor.findings import Finding, Values
from sonorant.recipe import Recipe
from sonorant.recipe.layout import stage_order

__all__ = ["contradictions"]

_PORTS = (7001, 9100, 50051)  # of the recognizer's pods: health, metrics, gRPC
_SECTIONS = ("prepare", "redis", "coordinator", "stages", "autoscaling", "trainer", "recognizer")


def contradictions(values: Values, recipe: Recipe) -> Iterator[Finding]:
    """Yield each contradiction between values."""
    chain = stage_order(recipe)
    for section in ("stages", "autoscaling"):
        for stage in values[section]["each"] or {}:
            if stage not in chain:
                has = ", ".join(chain)
                yield Finding("failure", f"{section}.each", f"{stage}: the recipe has no such stage; it has {has}")
    scaling = values["autoscaling"]
    for stage in chain:
        own = (scaling["each"] or {}).get(stage) or {}
        least, most = (own.get(key) or scaling[key] for key in ("minReplicas", "maxReplicas"))
        if least > most:
            yield Finding("failure", "autoscaling", f"{stage}: minReplicas {least} are more than maxReplicas {most}")
    for about, says in _unfit(values):
        yield Finding("failure", about, says)
    given = [bool(values["keys"]["secrets"].get(holder)) for holder in ("coordinator", "recognizer", "client")]
    if values["keys"]["enabled"] and any(given) and not all(given):
        says = "coordinator, recognizer and client are certificates of one authority: give all three, or none"
        yield Finding("failure", "keys.secrets", says)
    for claim in ("runs", "redis"):
        size = values["storage"][claim]["size"]
        if not values["storage"][claim]["claim"] and parse_quantity(size) <= 0:
            yield Finding("failure", f"storage.{claim}", f"size: found {size}, expected more than 0, such as 50Gi")
    yield from _without_volume(values)
    yield from _beyond_limits(values, chain)


def _unfit(values: Values) -> Iterator[tuple[str, str]]:
    """Yield (key, reason) of values that the chart refuses together."""
    redis, storage, recognizer = values["redis"], values["storage"], values["recognizer"]
    store, policies = storage["store"], values["networkPolicies"]["enabled"]
    if redis["url"] and redis["secret"]:
        yield "redis", "url and secret: the URL is given, or a secret has it; give one of them up"
    if redis["passwordSecret"] and (redis["url"] or redis["secret"]):
        yield "redis", "passwordSecret is of the chart's own Redis, but url or secret names one outside"
    account = values["serviceAccount"]
    if store["url"] and not (store["secret"] or account["annotations"] or account["name"]):
        yield "storage.store", "url: give a secret with its keys, or a serviceAccount that may use the bucket"
    if store["url"] and storage["runs"]["claim"]:
        yield "storage.store", "url and storage.runs.claim: the run is in object storage or on a volume; give one up"
    if not store["url"] and (store["secret"] or store["endpoint"] or store["region"]):
        yield "storage.store", "url: not given, but what belongs to it is: s3://BUCKET/PREFIX"
    if values["metrics"]["podMonitors"] and policies and not values["metrics"]["scrapers"]:
        yield "metrics.scrapers", "nobody, so the network policies keep Prometheus from the pods: name its pods"
    outside = recognizer["replicas"] and (recognizer["gateway"]["parents"] or recognizer["ingress"]["host"])
    if outside and policies and recognizer["clients"] == [{"podSelector": {}}]:
        yield "recognizer.clients", "only pods of the namespace, not the gateway's or ingress controller's: name them"
    if (port := (values["recipe"].get("serving") or {}).get("http_port")) in _PORTS:
        yield "recipe.serving.http_port", f"{port} is a port of the recognizer's pods already; choose another, as 8080"


def _without_volume(values: Values) -> Iterator[Finding]:
    for stage in () if values["data"]["claim"] else values["recipe"].get("stages") or ():
        if folder := (stage.get("noise") or {}).get("folder") or stage.get("reference"):
            says = f"data.claim is empty, but the recipe's stage {stage['stage']} plays recordings of {folder}"
            yield Finding("failure", "data", says)


def _beyond_limits(values: Values, chain: tuple[str, ...] | list[str]) -> Iterator[Finding]:
    """Yield requests above their limits, which the API server refuses."""
    each = values["stages"]["each"] or {}
    sections: dict[str, tuple[Values, ...]] = {name: (values[name],) for name in _SECTIONS}
    sections |= {f"stages.each.{stage}": (values["stages"], each[stage]) for stage in chain if each.get(stage)}
    for name, layers in sections.items():
        amounts: dict[str, dict[str, object]] = {"requests": {}, "limits": {}}
        for layer in layers:
            for kind, known in amounts.items():
                found = (layer.get("resources") or {}).get(kind) or {}
                known |= {key: amount for key, amount in found.items() if amount is not None}
        for key, limit in amounts["limits"].items():
            if (asked := amounts["requests"].get(key)) is not None and parse_quantity(asked) > parse_quantity(limit):
                yield Finding(
                    "failure", f"{name}.resources", f"requests.{key}: {asked} is more than its limit, {limit}"
                )

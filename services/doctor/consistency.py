"""What single values do not show: settings that contradict each other, which the chart or the API server refuses."""

from collections.abc import Iterator

from kubernetes.utils import parse_quantity

from services.doctor.findings import Finding, Values
from services.runtime.wiring import stage_order
from sonorant.recipe import Recipe

__all__ = ["contradictions"]

_SECTIONS = ("prepare", "redis", "coordinator", "stages", "autoscaling", "trainer", "recognizer")


def contradictions(values: Values, recipe: Recipe) -> Iterator[Finding]:
    """Yield each pair of values that cannot go together."""
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
    given = [bool(values["keys"]["secrets"].get(holder)) for holder in ("coordinator", "recognizer", "client")]
    if values["keys"]["enabled"] and any(given) and not all(given):
        says = "coordinator, recognizer and client are certificates of one authority: give all three, or none"
        yield Finding("failure", "keys.secrets", says)
    for claim in ("runs", "redis"):
        size = values["storage"][claim]["size"]
        if not values["storage"][claim]["claim"] and parse_quantity(size) <= 0:
            yield Finding("failure", f"storage.{claim}", f"size: found {size}, expected more than 0, such as 50Gi")
    yield from _beyond_limits(values, chain)


def _beyond_limits(values: Values, chain: tuple[str, ...] | list[str]) -> Iterator[Finding]:
    """Yield requests above their limits: the API server refuses such pods."""
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
